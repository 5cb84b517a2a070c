# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Extractors and pipelines from parameters: what is understood, and what is refused and how."""

from pathlib import Path

import pytest

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.registry import EXTRACTORS, extractor_parameters, make_extractor
from proemlc_ros.features.settings import (
    declared_settings,
    pipeline_from_settings,
    settings_from_file,
)

CONFIG = Path(__file__).parents[2] / 'config'


def test_the_default_name_is_kind_and_version():
    for kind in set(EXTRACTORS) - {'onnx_embedding'}:
        assert make_extractor(kind).name == f'{kind}/1'


@pytest.mark.parametrize('kind,parameters,name', [
    ('colour_moments', {'grid': 7}, 'colour_moments/1'),
    ('colour_moments/1', {'grid': 3}, 'colour_moments/1(grid=3)'),
    ('colour_moments', {'region': [0, 0, 0.5, 1]}, 'colour_moments/1(region=0,0,0.5,1)'),
    ('laser_profile', {'max_range': 4, 'shape': True},
     'laser_profile/1(max_range=4;shape=True)'),
    ('joint_window', {'joints': ['b', 'a']}, 'joint_window/1(joints=b,a)'),
])
def test_the_name_states_what_is_not_at_its_default(kind, parameters, name):
    assert make_extractor(kind, parameters).name == name


def test_a_long_value_is_named_by_its_hash():
    names = [f'arm_joint_{k}' for k in range(12)]
    one = make_extractor('joint_window', {'joints': names}).name
    other = make_extractor('joint_window', {'joints': names[::-1]}).name
    assert len(one) < 60 and one != other


def test_every_parameter_has_a_description():
    for kind in EXTRACTORS:
        for entry in extractor_parameters(kind):
            assert len(entry.metadata['description']) > 10, (kind, entry.name)


@pytest.mark.parametrize('kind,parameters,text', [
    ('colour', {}, 'there are: .*colour_moments'),
    ('colour_moments/2', {}, 'version 1 here, not 2'),
    ('colour_moments', {'grids': 3}, 'no parameter grids; it has: .*grid'),
    ('colour_moments', {'grid': 3.5}, 'grid of colour_moments is 3.5'),
    ('colour_moments', {'grid': True}, 'grid of colour_moments is True'),
    ('colour_moments', {'region': ['a']}, 'region of colour_moments'),
    ('joint_window', {'joints': [1, 2]}, 'joints of joint_window'),
    ('laser_profile', {'max_range': 'far'}, 'max_range of laser_profile'),
])
def test_what_cannot_be_made_is_refused_by_name(kind, parameters, text):
    with pytest.raises(ExtractorError, match=text):
        make_extractor(kind, parameters)


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
    ({'sensors': ['a'], 'a': {'topic': '/x', 'extractor': 'no'}}, 'sensor a: .*no extractor'),
    ({'sensors': ['a'], 'a': {'topic': '/x', 'extractor': 'laser_profile',
                              'type': 'sensor_msgs/msg/Image'}}, 'takes sensor_msgs/msg/Laser'),
    ({'sensors': ['a'], 'a': {'topic': '/x', 'extractor': 'laser_profile', 'max_rate': -1}},
     'max_rate is -1'),
    ({'sensors': ['a'], 'tolerance': 'x', 'a': {'topic': '/x', 'extractor': 'laser_profile'}},
     'tolerance'),
])
def test_unusable_settings_are_refused_by_name(settings, text):
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


def test_dotted_names_in_files_are_understood(tmp_path):
    path = tmp_path / 'p.yaml'
    path.write_text('features:\n  ros__parameters:\n    sensors: [cam]\n'
                    '    cam.topic: /i\n    cam:\n      extractor: colour_moments\n')
    assert settings_from_file(path)['cam'] == {'topic': '/i', 'extractor': 'colour_moments'}


@pytest.mark.parametrize('text', ['', '- 1', 'a: 1', 'a: {ros__parameters: {x: 1}}', '{', '\0'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    with pytest.raises(ExtractorError, match='p.yaml'):
        settings_from_file(path)
