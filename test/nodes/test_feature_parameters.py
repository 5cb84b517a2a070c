# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One argument for the camera: it reaches the sensor that takes pictures, whatever its name."""

from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.settings import settings_from_file
from proemlc_ros.journal.journal import Journal
from proemlc_ros.nodes.feature_parameters import _with_camera, declare_pipeline
from proemlc_ros.records import Annotation

CONFIG = Path(__file__).parents[2] / 'config'


@pytest.mark.parametrize('name', [
    'features.yaml', 'features_onnx.yaml', 'features_small_computer.yaml', 'robot.yaml'])
def test_image_topic_is_the_topic_of_the_camera_of_our_own_files(name):
    settings = settings_from_file(CONFIG / name)
    moved = _with_camera({**settings, 'image_topic': '/front/image'})
    assert moved['camera']['topic'] == '/front/image'
    assert settings['camera']['topic'] == 'camera/image_raw'  # of the namespace
    assert _with_camera(settings) == settings


def test_a_compressed_topic_is_known_by_its_name():
    settings = {'sensors': ['eye'], 'eye': {'topic': 'a', 'extractor': 'auto'},
                'image_topic': '/front/image/compressed'}
    assert _with_camera(settings)['eye'] == {
        'topic': '/front/image/compressed', 'extractor': 'auto',
        'type': 'sensor_msgs/msg/CompressedImage'}


@pytest.mark.parametrize('sensors', [
    {'lidar': {'topic': 'scan', 'extractor': 'laser_profile'}},
    {'left': {'extractor': 'auto'}, 'right': {'extractor': 'colour_moments'}}])
def test_without_exactly_one_camera_it_is_an_error(sensors):
    with pytest.raises(ExtractorError, match='not exactly one sensor takes pictures'):
        _with_camera({'sensors': list(sensors), **sensors, 'image_topic': '/front/image'})


@pytest.mark.parametrize('named', [True, False], ids=['model_directory', 'default'])
def test_auto_keeps_the_extractor_of_a_taught_model(tmp_path, monkeypatch, ros_domain_id, named):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    folder = tmp_path / ('taught' if named else '.ros/proemlc/kitchen/proemlc')
    journal = Journal(folder / 'journal')
    journal.append([Annotation(1, ('cup',), features=np.zeros(3, np.float32),
                               extractor='gradient_histogram/1(grid=2)')])
    journal.close()
    given = {'sensors': ['eye'], 'eye.topic': 'image', 'eye.extractor': 'auto',
             **({'model_directory': str(folder)} if named else {})}
    context = rclpy.Context()
    context.init(domain_id=ros_domain_id)
    try:
        node = rclpy.create_node(
            'features', namespace='kitchen', context=context,
            automatically_declare_parameters_from_overrides=True,
            parameter_overrides=[rclpy.Parameter(name, value=value)
                                 for name, value in given.items()])
        assert declare_pipeline(node).pipeline.extractor == 'gradient_histogram/1(grid=2)'
        node.destroy_node()
    finally:
        context.try_shutdown()
