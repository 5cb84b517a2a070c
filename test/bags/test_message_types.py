# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Message types for the library rosbags."""

import json
import os
import sys
from pathlib import Path

import pytest

from proemlc_ros.bags.message_types import (
    RosbagsMessages,
    default_typestore,
    full_type_name,
    matching_typestore,
)


def test_type_hashes_are_those_of_ros():
    """What rosbags computes from our .msg files is what ROS's own generator computed."""
    folders = [Path(prefix) / 'share' / 'proemlc_ros' / 'msg' for prefix in (
        sys.prefix, *os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep))]
    files = [file for folder in folders for file in folder.glob('*.json')]
    if not files:
        pytest.skip('the interfaces are not built here')
    store = default_typestore()
    for file in files:
        name = f'proemlc_ros/msg/{file.stem}'
        hashes = {entry['type_name']: entry['hash_string']
                  for entry in json.loads(file.read_text())['type_hashes']}
        assert store.hash_rihs01(name) == hashes[name]


@pytest.mark.parametrize(('name', 'full'), [
    ('sensor_msgs/Image', 'sensor_msgs/msg/Image'),
    ('sensor_msgs/msg/Image', 'sensor_msgs/msg/Image'),
    ('Image', 'Image')])
def test_type_names_of_early_ros_2(name, full):
    assert full_type_name(name) == full


def test_an_older_version_of_a_type_is_found_by_a_message():
    """Range has a variance since Jazzy; a message without it is one of Humble."""
    made = RosbagsMessages()
    header = made.new('std_msgs/msg/Header', frame_id='', stamp=made.new(
        'builtin_interfaces/msg/Time', sec=5, nanosec=0))
    data = made.serialize(made.new(
        'sensor_msgs/msg/Range', header=header, radiation_type=0, field_of_view=1.0,
        min_range=0.0, max_range=4.0, range=2.0, variance=0.5), 'sensor_msgs/msg/Range')
    default = default_typestore()
    assert matching_typestore('sensor_msgs/msg/Range', data, default) is default
    older = matching_typestore('sensor_msgs/msg/Range', data[:-4], default)
    assert older is not None
    assert older.deserialize_cdr(data[:-4], 'sensor_msgs/msg/Range').range == 2.0
    assert matching_typestore('acme_msgs/msg/Thing', data, default) is None
