# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags (rosbag2, sqlite3 and mcap): reading, writing, annotating, the journal; without ROS."""
