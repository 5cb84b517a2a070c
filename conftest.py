# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Leaves modules out of the doctests whose optional library this machine does not have."""

from importlib.util import find_spec

OPTIONAL = {
    'aiohttp': ['proemlc_ros/operator/web/*'],
    'cv2': ['proemlc_ros/features/*'],
    'rclpy': ['proemlc_ros/nodes/*'],
    'sklearn': ['proemlc_ros/core/sklearn.py', 'proemlc_ros/experiments/baselines/*'],
}

collect_ignore_glob = ['docs/*'] + [
    path for module, paths in OPTIONAL.items() if find_spec(module) is None for path in paths]
