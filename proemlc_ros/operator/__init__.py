# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The seat of the people who teach: what teleop and the web page share, free of ROS."""
