# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From scores to probabilities and labels, by what left-out samples tell."""
