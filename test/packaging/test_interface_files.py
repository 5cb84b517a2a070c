# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The .msg, .srv and .action files: documented; Python imports exactly what they define."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob('msg/*.msg'), *ROOT.glob('srv/*.srv'),
                *ROOT.glob('action/*.action')])


def undocumented_fields(text):
    """Return the fields and constants that no comment stands directly before."""
    before, missing = '', []
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith(('#', '---')) and not before.startswith('#'):
            missing.append(line)
        before = line
    return missing


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_every_field_has_a_comment(path):
    assert undocumented_fields(path.read_text(encoding='utf-8')) == []


def test_a_field_without_a_comment_is_noticed():
    assert undocumented_fields('# good\nint8 a\n\nint8 b\n---\nint8 c\n') == ['int8 b', 'int8 c']


@pytest.mark.parametrize('kind', ['msg', 'srv', 'action'])
def test_imports_are_exactly_those_of_the_folder(kind):
    module = importlib.import_module(f'proemlc_ros.{kind}')
    names = {name for name in vars(module) if name[0].isupper() and '_' not in name}
    assert names == {path.stem for path in FILES if path.suffix == f'.{kind}'}


def test_the_ament_index_lists_the_interfaces():
    index = pytest.importorskip('ament_index_python')
    content, _ = index.get_resource('rosidl_interfaces', 'proemlc_ros')
    listed = {line for line in content.split() if line.endswith(('.msg', '.srv', '.action'))}
    # A service also brings the messages of its two halves, named after it.
    assert listed >= {f'{path.parent.name}/{path.name}' for path in FILES}
    assert {Path(line).stem for line in listed} == {path.stem for path in FILES}
