# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of real and simulated robots: every message gives a finite vector of one width."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.features.registry import make_extractor
from proemlc_ros.features.sensor_arrays import sample_of

DATA = Path(os.environ.get('PROEMLC_DATA', Path(__file__).parents[3] / 'shared'))
BAGS = DATA / 'bags'
EXTRACTORS = {
    'sensor_msgs/msg/Image': [('colour_moments', {}), ('gradient_histogram', {})],
    'sensor_msgs/msg/CompressedImage': [('colour_moments', {}), ('gradient_histogram', {})],
    'sensor_msgs/msg/LaserScan': [
        ('laser_profile', {}), ('laser_profile', {'shape': True, 'field_of_view': [-3.14, 3.14]})],
    'sensor_msgs/msg/Imu': [('imu_window', {})],
    'sensor_msgs/msg/JointState': [('joint_window', {})],
}

pytestmark = pytest.mark.skipif(
    not BAGS.is_dir(), reason='no bags: set PROEMLC_DATA to the folder that holds bags/')


def messages_of(bag):
    """Yield topic, type and message of everything an extractor takes."""
    with BagReader(bag, best_effort=True) as reader:
        known = [topic for topic in reader.topics if topic.type in EXTRACTORS]
        for topic, _, message in reader.messages(known):
            yield topic.name, topic.type, message


@pytest.mark.parametrize('name,counts', [
    ('klintan_sample', {'/image': 1, '/image/compressed': 1, '/imu': 1}),
    ('lidar_nanaaaiya_p1', {'/scan': 277}),
    pytest.param('webots_walker', {'/scan': 3120, '/joint_states': 792}, marks=pytest.mark.slow),
])
def test_every_message_gives_a_finite_vector_of_constant_width(name, counts):
    if not (BAGS / name).is_dir():
        pytest.skip(f'the bag {name} is not there')
    extractors, seen = {}, defaultdict(int)
    for topic, message_type, message in messages_of(BAGS / name):
        if topic not in extractors:
            extractors[topic] = [make_extractor(*entry) for entry in EXTRACTORS[message_type]]
        seen[topic] += 1
        sample = sample_of(message, message_type)
        for extractor in extractors[topic]:
            vector = extractor(sample)
            assert vector.dtype == np.float32 and vector.shape == (extractor.width,)
            assert np.isfinite(vector).all()
            assert vector.any()
    assert seen == counts
