# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recursive ridge regression: the solution is updated with every sample."""
