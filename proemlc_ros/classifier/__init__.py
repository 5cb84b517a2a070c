# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How annotations meet features and become knowledge; free of ROS, so that bags replay it."""
