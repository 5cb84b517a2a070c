# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a classifier imports to start: nothing that only some of them need."""

import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

# Each takes a good part of the start of a bare node.
LATER = {'scipy.linalg', 'scipy.spatial', 'scipy.sparse', 'cv2', 'rosbags', 'statistics',
         'sklearn', 'aiohttp', 'sensor_msgs.msg', 'asyncio', 'difflib', 'secrets',
         'subprocess', 'numpy.polynomial', 'proemlc_ros.core.selection',
         'proemlc_ros.core.sums', 'proemlc_ros.classifier.renewal_task',
         'proemlc_ros.classifier.corrections.gallery'}


def test_a_classifier_starts_without_what_it_may_need_later():
    done = subprocess.run(
        [sys.executable, '-c', 'import sys, proemlc_ros.nodes.classifier_node; '
         'print(*sys.modules)'], text=True, capture_output=True, check=True)
    assert LATER & set(done.stdout.split()) == set()
