# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes; the only code that needs rclpy."""

from proemlc_ros.nodes.garbage import collect_rarely

# Before all that a node imports: it makes 100,000 objects and no garbage, and to look through
# them again and again takes 20 ms of a start.
collect_rarely()
