# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments of the method's paper, with today's learner and every rival beside it."""
