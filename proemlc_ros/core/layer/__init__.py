# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The hidden layer: scaling, random neurons, neurons around centres."""
