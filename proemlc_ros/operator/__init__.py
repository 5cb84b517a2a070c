# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the web page and the terminal share: the operators' side, free of ROS."""
