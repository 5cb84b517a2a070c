# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pretrained networks for deep features: installing, checking and finding them."""
