# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node: what is allowed when, and what tools and --help show."""

from __future__ import annotations

from importlib import import_module

import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from rclpy.parameter import Parameter

from proemlc_ros.errors import ParameterError
from proemlc_ros.nodes.parameters import Declared, ParameterTable

SIZE = Declared('size', 500, 'Size, 1 to 1000', least=1, most=1000)
RATE = Declared('rate', 0.5, 'Rate per second, 0 to 10', least=0.0, most=10.0, runtime=True)
MODE = Declared('mode', 'fast', 'Mode', choices=('fast', 'exact'))
SWITCH = Declared('switch', True, 'Switch')


@pytest.mark.parametrize('declared,value', [
    (SIZE, 1), (SIZE, 1000), (RATE, 0.0), (MODE, 'exact'), (SWITCH, False)])
def test_allowed_values_pass(declared, value):
    declared.check(value)


@pytest.mark.parametrize('declared,value,text', [
    (SIZE, 0, 'size is 0; it must be from 1 to 1000'),
    (SIZE, True, 'size is True; it must be of type int'),
    (RATE, 10.5, 'rate is 10.5; it must be from 0 to 10'),
    (RATE, float('nan'), 'rate is nan; it must be a finite number'),
    (RATE, 1, 'rate is 1; it must be of type float'),
    (MODE, 'slow', "mode is 'slow'; it must be one of fast, exact"),
])
def test_other_values_are_rejected_with_what_is_allowed(declared, value, text):
    with pytest.raises(ParameterError) as caught:
        declared.check(value)
    assert text in str(caught.value)


def test_the_descriptor_has_the_range():
    size, rate = SIZE.descriptor(), RATE.descriptor()
    assert (size.integer_range[0].from_value, size.integer_range[0].to_value) == (1, 1000)
    assert size.read_only and not rate.read_only
    assert rate.floating_point_range[0].to_value == 10.0
    assert MODE.descriptor().additional_constraints == 'one of fast, exact'


def made(context, *overrides):
    return rclpy.create_node('node', context=context, parameter_overrides=list(overrides),
                             automatically_declare_parameters_from_overrides=True)


@pytest.fixture
def node(ros):
    node = made(ros, Parameter('rate', value=2), Parameter('mode', value='exact'))
    yield node
    node.destroy_node()


def test_overrides_are_taken_and_the_rest_is_at_its_default(node):
    values = ParameterTable(node, [SIZE, RATE, MODE, SWITCH], lambda _: None).values
    assert (values.size, values.rate, values.mode, values.switch) == (500, 2.0, 'exact', True)
    assert node.get_parameter('rate').value == 2.0


def test_an_override_out_of_range_ends_the_start(node):
    with pytest.raises(ParameterError, match='rate is 2.0'):
        ParameterTable(node, [MODE, Declared('rate', 0.5, 'Rate', least=0.0, most=1.0)], print)


def test_values_change_at_run_time_where_they_may(node):
    changes = []
    table = ParameterTable(
        node, [SIZE, RATE, MODE], lambda values: changes.append(values.rate))
    taken, = node.set_parameters([Parameter('rate', value=3.5)])
    assert taken.successful and table.values.rate == 3.5 and changes == [3.5]
    for rejected in (Parameter('rate', value=11.0), Parameter('size', value=5)):
        result, = node.set_parameters([rejected])
        assert not result.successful
    assert table.values.rate == 3.5 and table.values.size == 500 and changes == [3.5]


def test_a_misspelt_parameter_is_rejected_with_the_right_name(ros):
    node = made(ros, Parameter('raet', value=2), Parameter('use_sim_time', value=False))
    with pytest.raises(ParameterError, match='raet is not a parameter of this node; did you mean '
                                             'rate'):
        ParameterTable(node, [SIZE, RATE], lambda _: None)
    node.destroy_node()


def test_while_it_is_open_everything_may_change(node):
    is_open = [True]
    table = ParameterTable(node, [SIZE, RATE, MODE], lambda _: None, lambda: is_open[0])
    assert node.set_parameters([Parameter('size', value=7)])[0].successful
    assert table.values.size == 7
    is_open[0] = False
    answer, = node.set_parameters([Parameter('size', value=8)])
    assert not answer.successful and 'only while the node is unconfigured' in answer.reason
    assert node.set_parameters([Parameter('rate', value=3.0)])[0].successful
    assert (table.values.size, table.values.rate) == (7, 3.0)


def test_a_bare_off_in_yaml_is_the_choice(ros):
    node = made(ros, Parameter('renewal', value=False))
    declared = Declared('renewal', 'automatic', 'Renewal', choices=('automatic', 'off'))
    assert ParameterTable(node, [declared], lambda _: None).values.renewal == 'off'
    node.destroy_node()


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
