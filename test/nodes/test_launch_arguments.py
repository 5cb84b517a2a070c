# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of the launch files: checked before anything starts, and for every node."""

from pathlib import Path

import pytest

from proemlc_ros.errors import ParameterError
from proemlc_ros.nodes.launch_arguments import (
    _sections_of,
    check_arguments,
    files_for,
    parse_remappings,
    rules_for,
)

NODES = ('proemlc', 'features', 'dashboard')


@pytest.mark.parametrize(('given', 'text'), [
    ({'port': 'abc'}, 'port:=abc is not a port'),
    ({'port': '65536'}, 'from 0 to 65535'),
    ({'port': '-1'}, 'port'),
    ({'port': '٣'}, 'port'),
    ({'namespace': 'my robot'}, 'not a namespace'),
    ({'name': 'a/b'}, 'not the name of a node'),
    ({'params_file': '/nowhere.yaml'}, 'params_file:=/nowhere.yaml: there is no such file'),
    ({'features_file': '/nowhere.yaml'}, 'features_file'),
    ({'token_file': '/nowhere'}, 'token_file'),
    ({'remappings': '~/features'}, "'~/features' is not of the form from:=to"),
    ({'remappings': 'a:= b'}, 'from:=to'),
])
def test_what_cannot_be_used_is_named(given, text):
    with pytest.raises(ParameterError, match=None) as caught:
        check_arguments(given)
    assert text in str(caught.value)


def test_a_file_that_is_no_parameter_file_is_named(tmp_path):
    for number, text in enumerate(('[1, 2]', 'a: [', '\x00')):
        path = tmp_path / f'{number}.yaml'
        path.write_text(text)
        with pytest.raises(ParameterError, match='is not a parameter file'):
            check_arguments({'params_file': str(path)})


def test_everything_usual_is_accepted():
    check_arguments({})
    for namespace in ('', '/', 'robot', '/fleet/robot1', 'robot/'):
        check_arguments({'namespace': namespace, 'name': 'eyes', 'port': '0'})


def test_a_remapped_topic_of_the_classifier_is_so_for_all_nodes():
    rules = parse_remappings('~/features:=/camera/features ~/labels:=~/names /diagnostics:=diag')
    assert rules_for('proemlc', 'eyes', rules) == rules
    assert rules_for('features', 'eyes', rules) == [
        ('proemlc/features', '/camera/features'), ('proemlc/labels', 'eyes/names'),
        ('/diagnostics', 'diag')]
    assert rules_for('dashboard', 'eyes', rules)[:2] == [
        ('eyes/features', '/camera/features'), ('eyes/labels', 'eyes/names')]


def test_the_feature_node_follows_the_name_of_the_classifier():
    assert rules_for('features', 'eyes', []) == [('proemlc/features', 'eyes/features')]
    assert rules_for('features', 'proemlc', []) == []


def test_one_file_for_all_nodes(tmp_path):
    for_all, own = tmp_path / 'robot.yaml', tmp_path / 'classifier.yaml'
    for_all.write_text('/**/proemlc: {ros__parameters: {seed: 3}}\n'
                       'robot:\n  dashboard: {ros__parameters: {port: 1}}\n')
    own.write_text('/**: {ros__parameters: {seed: 3}}\n')
    assert _sections_of(for_all) == {'proemlc', 'dashboard'} and _sections_of(own) == {'**'}

    def files(node, params, features=''):
        return files_for(node, node, str(params), features, 'default')
    assert [files(node, for_all) for node in NODES] == [
        [str(for_all)], ['default', str(for_all)], [str(for_all)]]
    assert [files(node, own) for node in NODES] == [[str(own)], ['default'], []]
    assert files('features', for_all, 'given') == [str(for_all), 'given']
    for_all.write_text('/**/features: {ros__parameters: {sensors: [a]}}\n')
    assert files('features', for_all) == [str(for_all)]


def test_what_starts_the_launch_file_ends_and_restarts_it():
    root = Path(__file__).parents[2]
    unit = (root / 'systemd/proemlc.service').read_text()
    # launch of Jazzy ends with code 0 when a node has died.
    assert '\nRestart=always\n' in unit and '\nKillSignal=SIGINT\n' in unit
    image = (root / 'docker/Dockerfile').read_text()
    assert '\nSTOPSIGNAL SIGINT\n' in image and 'vision-msgs' in image
    assert '-v proemlc:/root/.ros ' in image  # networks are beside the models
