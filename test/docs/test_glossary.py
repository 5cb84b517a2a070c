# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The glossary names what is in the code."""

import ast
import re

from pages import ROOT

from proemlc_ros.cli.main import COMMANDS

PACKAGE = ROOT / 'proemlc_ros'


def rows():
    """Return the words of the glossary with the names that the code has for them."""
    text = (ROOT / 'docs/glossary.md').read_text(encoding='utf-8')
    return [(word, re.findall(r'`([^`]+)`', names)) for word, names in
            re.findall(r'^\| ([^|]+) \|[^|]*\|([^|]*)\|$', text, re.MULTILINE)[1:]]


def defined():
    """Return the classes, functions and parameters of the package."""
    found = set()
    for path in PACKAGE.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.add(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


def test_every_name_is_in_the_code():
    known = defined()
    words = {*known, *(path.name for path in ROOT.glob('msg/*.msg')),
             *(path.name for path in ROOT.glob('srv/*.srv')),
             *(f'proemlc {name}' for name in COMMANDS)}
    gone = {word: name for word, names in rows() for name in names
            if name not in words and not (PACKAGE / name).exists()
            and not (PACKAGE / f'{name}.py').exists()}
    assert gone == {}


def test_every_word_stands_once_and_has_a_name():
    listed = rows()
    assert len({word for word, _ in listed}) == len(listed) > 20
    assert [word for word, names in listed if not names] == []
