# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines from settings: the shipped files, and the errors for unusable settings."""

from pathlib import Path

import pytest

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.parameter_file import settings_from_file
from proemlc_ros.features.settings import declared_settings, pipeline_from_settings

CONFIG = Path(__file__).parents[2] / 'config'


def test_a_pipeline_from_nested_settings():
    pipeline = pipeline_from_settings({
        'sensors': ['camera', 'lidar'], 'tolerance': 0.05,
        'camera': {'topic': '/image', 'extractor': 'colour_moments', 'max_rate': 10,
                   'type': 'sensor_msgs/CompressedImage', 'grid': 3},
        'lidar': {'topic': '/scan', 'extractor': 'laser_profile'},
    })
    first, second = pipeline.sensors
    assert first.message_type == 'sensor_msgs/msg/CompressedImage' and first.max_rate == 10
    assert second.message_type == 'sensor_msgs/msg/LaserScan' and second.topic == '/scan'
    assert pipeline.extractor == 'colour_moments/1(grid=3)+laser_profile/1'


@pytest.mark.parametrize('settings,text', [
    ({}, 'no sensors'),
    ({'sensors': ['a']}, 'a.topic'),
    ({'sensors': ['a'], 'a': {'topic': '/x'}}, 'a.extractor'),
    ({'sensors': ['a'], 'a': {'topic': '/x', 'extractor': 'no'}}, 'sensor a: unknown extractor'),
    ({'sensors': ['a'], 'a': {'topic': '/x', 'extractor': 'laser_profile',
                              'type': 'sensor_msgs/msg/Image'}}, 'takes sensor_msgs/msg/Laser'),
    ({'sensors': ['a'], 'a': {'topic': '/x', 'extractor': 'laser_profile', 'max_rate': -1}},
     'max_rate is -1'),
    ({'sensors': ['a'], 'tolerance': 'x', 'a': {'topic': '/x', 'extractor': 'laser_profile'}},
     'tolerance'),
])
def test_unusable_settings_are_rejected_by_name(settings, text):
    with pytest.raises(ExtractorError, match=text):
        pipeline_from_settings(settings)


@pytest.mark.parametrize('path', sorted(CONFIG.glob('features*.yaml')), ids=lambda path: path.name)
def test_the_shipped_files_make_pipelines(path):
    settings = settings_from_file(path)
    for name in settings['sensors']:
        known = declared_settings(settings[name]['extractor'])
        assert set(settings[name]) <= set(known)
    if 'onnx' not in path.name:
        assert pipeline_from_settings(settings).extractor


def test_there_is_a_default_file():
    assert (CONFIG / 'features.yaml').is_file()
