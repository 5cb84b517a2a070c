# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Regions of pictures: where they come from, how they are cut, tracked and drawn."""
