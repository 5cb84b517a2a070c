# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The laboratory: the experiments of the method's paper, with our learner and its baselines."""
