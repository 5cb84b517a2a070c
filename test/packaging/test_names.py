# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Names in the package: one class per name, the field's words, modules of a readable length."""

import ast
import re
from collections import Counter
from functools import cache

import pytest
from checkout import ROOT

PACKAGE = ROOT / 'proemlc_ros'
FILES = sorted(PACKAGE.rglob('*.py'))
# Lines. A module is one idea, 100 to 500 lines; a longer one holds two, which want a name each.
LONGEST_MODULE = 600

# Metaphors for which the field has a term: see docs/glossary.md.
METAPHORS = {
    'classroom', 'deed', 'desk', 'diary', 'door', 'engine', 'intake', 'ledger', 'lesson',
    'lessons', 'moment', 'outcome', 'outcomes', 'probe', 'pupil', 'recording', 'rival', 'rivals',
    'sight', 'stage', 'statement', 'teacher', 'trial'}


@cache
def classes():
    """Return the name of every class of the package, nested ones included, with its module."""
    return [(node.name, path.relative_to(PACKAGE).as_posix()) for path in FILES
            for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
            if isinstance(node, ast.ClassDef)]


def words(name):
    """Return the words of a name: StampedVector, stamped_vector -> stamped, vector."""
    return {word.lower() for word in re.findall(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])', name)}


def test_every_class_name_is_unique():
    counts = Counter(name for name, _ in classes())
    twice = {name for name, count in counts.items() if count > 1}
    assert {(name, module) for name, module in classes() if name in twice} == set()


def test_no_class_is_named_by_a_metaphor():
    assert {(name, module) for name, module in classes() if words(name) & METAPHORS} == set()


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_are_named_by_the_field_and_of_readable_length(path):
    assert not words(path.stem) & METAPHORS
    assert len(path.read_text(encoding='utf-8').splitlines()) <= LONGEST_MODULE


def test_no_test_is_skipped_for_a_module_that_is_gone():
    made = {'proemlc_ros.msg', 'proemlc_ros.srv', 'proemlc_ros.action',
            'proemlc_ros.core._kernels'}  # by the build
    wanted = {name for path in (ROOT / 'test').rglob('*.py') for name in re.findall(
        r"importorskip\('(proemlc_ros[\w.]*)'", path.read_text(encoding='utf-8'))}
    assert [name for name in wanted - made
            if not (ROOT / f'{name.replace(".", "/")}.py').exists()] == []


def test_words_of_names():
    assert words('StampedVector') == words('stamped_vector') == {'stamped', 'vector'}
    assert words('ProEMLCError') == {'pro', 'emlc', 'error'}


def test_docstrings_end_in_one_way():
    """Google style: sections with a colon, closing quotes right below the last line."""
    wrong = [f'{path.relative_to(PACKAGE)}: {node.name}' for path in FILES
             for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
             if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
             and re.search(r'\n\s*\n\s*\Z|^\s*:(param|return|raises)|^\s*-{4,}\s*$',
                           ast.get_docstring(node, clean=False) or '', re.M)]
    assert wrong == []
