# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of models on bags: prequential metrics, training, reports."""
