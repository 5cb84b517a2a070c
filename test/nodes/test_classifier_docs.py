# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The reference page, the parameter files and the security policy say what the node does."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import yaml

from proemlc_ros.nodes import classifier_parameters as parameters
from proemlc_ros.nodes.ros_messages import SERVICES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / 'docs'))

from reference import comment_of, parameter_tables


def created(pattern: str) -> set[str]:
    """Return the private names that the node's code creates."""
    text = ''.join(
        path.read_text() for path in (ROOT / 'proemlc_ros/nodes').glob('classifier_*.py'))
    return set(re.findall(pattern, text))


TOPICS = created(r"'~/(\w+)'")


def test_the_code_was_understood():
    assert {'features', 'annotations', 'predictions', 'labels', 'queries'} <= TOPICS
    assert {'annotate', 'undo', 'reset', 'predict', 'save_model', 'load_model'} <= SERVICES.keys()


def test_the_reference_has_every_parameter_topic_and_service():
    text = (ROOT / 'docs/node.md').read_text()
    assert parameter_tables() in text, 'run docs/reference.py'
    for name in TOPICS | SERVICES.keys():
        assert f'`~/{name}`' in text, name
    defaults = {entry.name: entry.default for entry in parameters.CLASSIFIER_PARAMETERS}
    row = next(line for line in text.splitlines() if line.startswith('| `~/features`'))
    assert f'depth {defaults["features_depth"]};' in row


def test_the_default_file_has_every_default():
    values = yaml.safe_load((ROOT / 'config/proemlc.yaml').read_text())['/**']['ros__parameters']
    assert values == {entry.name: entry.default for entry in parameters.CLASSIFIER_PARAMETERS}


def test_every_value_for_a_small_computer_is_allowed_and_not_the_default():
    text = (ROOT / 'config/proemlc_small_computer.yaml').read_text()
    table = {entry.name: entry for entry in parameters.CLASSIFIER_PARAMETERS}
    for key, value in yaml.safe_load(text)['/**']['ros__parameters'].items():
        table[key].check(value)
        assert value != table[key].default, key


def test_the_policy_covers_every_topic_and_service():
    policy = ElementTree.parse(ROOT / 'config/security/policy.xml')
    profile = policy.find(".//profile[@node='proemlc']")
    topics = {element.text for element in profile.iter('topic')}
    services = {element.text for element in profile.iter('service')}
    assert {f'/proemlc/{name}' for name in TOPICS} <= topics
    assert {f'/proemlc/{name}' for name in SERVICES} <= services


def test_the_comments_of_the_file_are_the_descriptions():
    text = (ROOT / 'config/proemlc.yaml').read_text()
    for entry in parameters.CLASSIFIER_PARAMETERS:
        assert f'\n\n{comment_of(entry)}\n    {entry.name}: ' in text, entry.name
