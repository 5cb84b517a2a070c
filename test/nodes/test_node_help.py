# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""--help of the nodes prints, and starts nothing."""

from importlib import import_module

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')


@pytest.mark.parametrize(('name', 'parameter'), [
    ('classifier_node', 'hidden_size'), ('feature_node', 'NAME.extractor'),
    ('dashboard_node', 'picture_tolerance'), ('teleop_node', 'annotator')])
def test_help_names_the_parameters(name, parameter, capsys):
    if name == 'dashboard_node':
        pytest.importorskip('aiohttp')
    node = import_module(f'proemlc_ros.nodes.{name}')
    assert node.main(['--help']) == 0
    printed = capsys.readouterr().out
    assert f'\n  {parameter}\n' in printed and '--ros-args' in printed
