# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The reference page, the parameter files and the security policy say what the node does."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import yaml

from proemlc_ros.nodes.classifier import parameters as parameters

ROOT = Path(__file__).parents[2]
GROUPS = {
    'Model': parameters.MODEL_PARAMETERS, 'Files and life': parameters.FILE_PARAMETERS,
    'Pictures': parameters.PICTURE_PARAMETERS,
    'Topics': parameters.TOPIC_PARAMETERS, 'Matching': parameters.MATCHING_PARAMETERS,
    'Limits': parameters.LIMIT_PARAMETERS, 'Queries': parameters.QUERY_PARAMETERS,
    'Reports': parameters.REPORT_PARAMETERS,
}


def parameter_tables() -> str:
    """Return the tables of docs/node.md."""
    lines = []
    for title, group in GROUPS.items():
        lines += ['', f'### {title}', '', '| parameter | default | allowed | run time | meaning |',
                  '|---|---|---|---|---|']
        for entry in group:
            if entry.choices:
                allowed = ', '.join(f'`{choice}`' for choice in entry.choices)
            elif entry.least is not None:
                allowed = f'{entry.least:.10g} to {entry.most:.10g}'
            else:
                allowed = 'true, false' if isinstance(entry.default, bool) else 'any text'
            default = str(entry.default).lower() if isinstance(entry.default, bool) else (
                repr(entry.default) if entry.default != '' else 'empty')
            lines.append(f'| `{entry.name}` | {default} | {allowed} | '
                         f'{"yes" if entry.runtime else "no"} | {entry.description} |')
    return '\n'.join(lines) + '\n\n'


def created(pattern: str) -> set[str]:
    """Return the private names that the node's code creates."""
    text = ''.join(
        path.read_text() for path in (ROOT / 'proemlc_ros/nodes/classifier').glob('*.py'))
    return set(re.findall(pattern, text))


TOPICS = created(r"'~/(\w+)'")
SERVICES = created(r"^ +\('(\w+)', \w+, self\._\w+\),$".replace('^', '(?m)^'))


def test_the_code_was_understood():
    assert {'features', 'annotations', 'predictions', 'labels', 'queries'} <= TOPICS
    assert {'annotate', 'undo', 'reset', 'predict', 'save_model', 'load_model'} <= SERVICES


def test_the_reference_has_every_parameter_topic_and_service():
    text = (ROOT / 'docs/node.md').read_text()
    assert parameter_tables() in text, 'write the tables anew, see parameter_tables()'
    for name in TOPICS | SERVICES:
        assert f'`~/{name}`' in text, name


def test_the_default_file_has_every_default():
    values = yaml.safe_load((ROOT / 'config/proemlc.yaml').read_text())['/**']['ros__parameters']
    assert values == {entry.name: entry.default for entry in parameters.CLASSIFIER_PARAMETERS}


@pytest.mark.parametrize('name', ['proemlc.yaml', 'proemlc_small_computer.yaml'])
def test_every_value_of_a_file_is_allowed(name):
    values = yaml.safe_load((ROOT / 'config' / name).read_text())['/**']['ros__parameters']
    table = {entry.name: entry for entry in parameters.CLASSIFIER_PARAMETERS}
    for key, value in values.items():
        table[key].check(value)


def test_the_policy_covers_every_topic_and_service():
    policy = ElementTree.parse(ROOT / 'config/security/policy.xml')
    profile = policy.find(".//profile[@node='proemlc']")
    topics = {element.text for element in profile.iter('topic')}
    services = {element.text for element in profile.iter('service')}
    assert {f'/proemlc/{name}' for name in TOPICS} <= topics
    assert {f'/proemlc/{name}' for name in SERVICES} <= services


def comment_of(entry) -> str:
    """Return the comment above a parameter in the files of config/."""
    text = f'{entry.description}.'
    bounds = f'{entry.least or 0:.10g} to {entry.most or 0:.10g}'
    if entry.least is not None and bounds not in text:
        text += f' From {bounds}.'
    if entry.choices:
        text += f' One of {", ".join(entry.choices)}.'
    if entry.runtime:
        text += ' May change at run time.'
    return '\n'.join(textwrap.wrap(
        text, 99, initial_indent='    # ', subsequent_indent='    # ', break_on_hyphens=False))


@pytest.mark.parametrize('name', ['proemlc.yaml', 'proemlc_small_computer.yaml'])
def test_the_comments_of_a_file_are_the_descriptions(name):
    text = (ROOT / 'config' / name).read_text()
    for entry in parameters.CLASSIFIER_PARAMETERS:
        assert f'\n\n{comment_of(entry)}\n    {entry.name}: ' in text, entry.name
