# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines from settings and parameter files, and the errors for unusable ones."""

from pathlib import Path

import pytest

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.settings import (
    _read_yaml,
    declared_settings,
    pipeline_from_settings,
    settings_from_file,
)

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
        known = set(declared_settings(settings[name]['extractor']))
        if settings[name]['extractor'] == 'auto':  # and what it turns out to be
            known |= set(declared_settings('onnx_embedding'))
        assert set(settings[name]) <= known
    if 'onnx' not in path.name:
        assert pipeline_from_settings(settings).extractor


def test_there_is_a_default_file():
    assert (CONFIG / 'features.yaml').is_file()


SCALARS = {
    # YAML 1.1 booleans, which PyYAML knows only in part
    'true': True, 'on': True, 'Y': True, 'y': True, 'Yes': True, 'off': False, 'n': False,
    'NO': False, 'oFF': 'oFF', '"on"': 'on', "'1'": '1',
    # integers: decimal, octal and hexadecimal as in C; too large ones become floats
    '7': 7, '+1': 1, '-3': -3, '010': 8, '0x1F': 31, '0o17': '0o17', '1_000': '1_000',
    '9223372036854775807': 2**63 - 1, '9223372036854775808': float(2**63),
    # floats: no decimal point or sign of the exponent needed
    '1e-3': 0.001, '1e3': 1000.0, '1E5': 1e5, '.5': 0.5, '5.': 5.0, '-.5e+2': -50.0, '08': 8.0,
    '.inf': float('inf'), '-.Inf': -float('inf'), 'inf': float('inf'), '1e999': '1e999',
    # no sexagesimal numbers, dates or null
    '12:30': '12:30', '2001-01-01': '2001-01-01', 'null': 'null', '~': '~', '=': '=',
    # of the tags only !!str counts; block scalars are typed like plain ones
    '!!str 1': '1', '!!int "1"': '1', '!!float 1': 1, '>-\n      on': True, '|\n      1': '1\n',
    '/camera/image_raw': '/camera/image_raw', '１': '１', '1e': '1e', '0x': '0x',
}


def same(found, expected):
    """Return whether two values are equal and of one type."""
    return type(found) is type(expected) and found == expected


def written(tmp_path, text):
    """Return the path of a parameter file with this text."""
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    return path


@pytest.mark.parametrize('text', SCALARS)
def test_scalars_have_the_types_of_ros(text):
    assert same(_read_yaml(f'value: {text}\n')['value'], SCALARS[text])


@pytest.mark.parametrize('text', ['.nan', '.NaN', 'nan', 'NAN'])
def test_nan_is_a_number(text):
    found = _read_yaml(text)
    assert isinstance(found, float) and found != found


def test_rcl_reads_the_same_values(tmp_path, ros_domain_id):
    rclpy = pytest.importorskip('rclpy')
    names = {f'value_{number}': text for number, text in enumerate(SCALARS)}
    lines = ''.join(f'    {name}: {text}\n' for name, text in names.items())
    path = written(tmp_path, '/**:\n  ros__parameters:\n' + lines)
    context = rclpy.Context()
    context.init(args=['--ros-args', '--params-file', str(path)], domain_id=ros_domain_id)
    try:
        node = rclpy.create_node('reader', context=context, start_parameter_services=False,
                                 automatically_declare_parameters_from_overrides=True)
        for name, text in names.items():
            assert same(node.get_parameter(name).value, SCALARS[text]), text
        node.destroy_node()
    finally:
        context.try_shutdown()


def test_names_are_text_whatever_they_look_like(tmp_path):
    settings = settings_from_file(written(
        tmp_path, 'a:\n  ros__parameters:\n    sensors: ["on", "1"]\n    on: {}\n    1: {}\n'))
    assert set(settings) == {'sensors', 'on', '1'}


def test_dotted_names_are_nested(tmp_path):
    settings = settings_from_file(written(
        tmp_path, 'features:\n  ros__parameters:\n    sensors: [cam]\n'
        '    cam.topic: /i\n    cam:\n      extractor: colour_moments\n'))
    assert settings['cam'] == {'topic': '/i', 'extractor': 'colour_moments'}


@pytest.mark.parametrize('text', ['', '- 1', 'a: 1', 'a: {ros__parameters: {x: 1}}'])
def test_files_without_a_feature_node_are_rejected(tmp_path, text):
    with pytest.raises(ExtractorError, match=r'p\.yaml has no parameters of a feature node'):
        settings_from_file(written(tmp_path, text))


@pytest.mark.parametrize('text,reason,line,column', [
    ('a: {\n', 'expected', 2, 1),
    ('a:\n  b: [1, 2\n', 'expected', 3, 1),
    ('a:\n  b: 1\n  b: 2\n', "the key 'b' comes twice", 3, 3),
    ('a:\n  topic:\n', 'a value is missing', 2, 9),
    ('a:\n  [b]: 1\n', 'a key must be a name', 2, 3),
])
def test_errors_name_file_line_and_column(tmp_path, text, reason, line, column):
    with pytest.raises(ExtractorError, match=reason) as caught:
        settings_from_file(written(tmp_path, text))
    assert f'p.yaml", line {line}, column {column}' in str(caught.value)


@pytest.mark.parametrize('content', [
    b'\0', pytest.param(b'[' * 5000, id='nested'), b'a: &a [*a]', b'\xff\xfe\xfa', b'a: \xe9'])
def test_files_that_are_not_yaml_are_rejected(tmp_path, content):
    path = tmp_path / 'p.yaml'
    path.write_bytes(content)
    with pytest.raises(ExtractorError, match=r'p\.yaml'):
        settings_from_file(path)


def test_brackets_in_each_other_are_rejected_where_there_are_too_many(tmp_path):
    with pytest.raises(ExtractorError, match='more than 100 brackets') as caught:
        settings_from_file(written(tmp_path, f'a: {"[" * 101}{"]" * 101}\n'))
    assert 'line 1, column 104' in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ExtractorError, match=r'nowhere\.yaml.*No such file'):
        settings_from_file(tmp_path / 'nowhere.yaml')
