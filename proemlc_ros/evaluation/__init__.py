# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Measuring: data sets, streams, prequential and cross-validated runs, reports."""
