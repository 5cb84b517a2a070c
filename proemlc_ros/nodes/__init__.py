# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes; the only code that needs rclpy."""

from proemlc_ros.nodes.garbage import start_without_collection

start_without_collection()  # Here, since a node's own imports come behind this.
