# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One argument for the camera: it reaches the sensor that takes pictures, whatever its name."""

from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.parameter_file import settings_from_file
from proemlc_ros.nodes.feature_parameters import with_camera

CONFIG = Path(__file__).parents[2] / 'config'


@pytest.mark.parametrize('name', ['features.yaml', 'features_onnx.yaml', 'robot.yaml'])
def test_image_topic_is_the_topic_of_the_camera_of_our_own_files(name):
    settings = settings_from_file(CONFIG / name)
    moved = with_camera({**settings, 'image_topic': '/front/image'})
    assert moved['camera']['topic'] == '/front/image'
    assert settings['camera']['topic'] == 'camera/image_raw'  # of the namespace
    assert with_camera(settings) == settings


def test_a_compressed_topic_is_known_by_its_name():
    settings = {'sensors': ['eye'], 'eye': {'topic': 'a', 'extractor': 'auto'},
                'image_topic': '/front/image/compressed'}
    assert with_camera(settings)['eye'] == {
        'topic': '/front/image/compressed', 'extractor': 'auto',
        'type': 'sensor_msgs/msg/CompressedImage'}


@pytest.mark.parametrize('sensors', [
    {'lidar': {'topic': 'scan', 'extractor': 'laser_profile'}},
    {'left': {'extractor': 'auto'}, 'right': {'extractor': 'colour_moments'}}])
def test_without_exactly_one_camera_it_is_an_error(sensors):
    with pytest.raises(ExtractorError, match='not exactly one sensor takes pictures'):
        with_camera({'sensors': list(sensors), **sensors, 'image_topic': '/front/image'})
