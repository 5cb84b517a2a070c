# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Labels that people type: one grammar in Python and on the page, and near duplicates."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import proemlc_ros
from proemlc_ros.label_text import (
    completion,
    join_labels,
    matching,
    near_duplicates,
    split_labels,
)

SCRIPT = Path(proemlc_ros.__file__).parent / 'operator/web/static/label_text.js'
TYPED = {
    '': [],
    '  ,, ': [],
    ' cup ': ['cup'],
    'cup, banana': ['cup', 'banana'],
    'cup,cup': ['cup'],
    '"salt, pepper"': ['salt, pepper'],
    ' "salt, pepper" , cup': ['salt, pepper', 'cup'],
    '“salt, pepper”,cup': ['salt, pepper', 'cup'],
    '„Salz, Pfeffer“': ['Salz, Pfeffer'],
    '"say ""hi"", twice"': ['say "hi", twice'],
    '5" pipe, cup': ['5" pipe', 'cup'],
    '"open, cup': ['"open', 'cup'],
    '"quoted" not, cup': ['"quoted" not', 'cup'],
    '"", x': ['x'],
    'tea pot, 茶, naïve': ['tea pot', '茶', 'naïve'],
}


@pytest.mark.parametrize(('typed', 'names'), TYPED.items())
def test_a_typed_text_names_labels(typed, names):
    assert list(split_labels(typed)) == names
    assert list(split_labels(join_labels(names))) == names


@pytest.mark.skipif(shutil.which('node') is None, reason='needs node')
def test_the_page_reads_labels_as_python_does():
    program = (f'import {{ splitLabels, joinLabels }} from {json.dumps(SCRIPT.as_uri())};'
               'const typed = JSON.parse(process.argv[1]);'
               'console.log(JSON.stringify(typed.map((text) => [splitLabels(text),'
               ' joinLabels(splitLabels(text))])));')
    done = subprocess.run(
        ['node', '--input-type=module', '-e', program, json.dumps([*TYPED])],
        capture_output=True, text=True, check=True, timeout=240)
    assert json.loads(done.stdout) == [[names, join_labels(names)] for names in TYPED.values()]


def test_the_cells_of_a_table_have_further_separators():
    assert split_labels('cup; red|"a;b"', ',;|') == ('cup', 'red', 'a;b')


@pytest.mark.parametrize(('typed', 'known'), [
    ('cups', 'cup'), ('Cup', 'cup'), ('tea_pot', 'tea pot'), ('bottel', 'bottle'),
    ('cafe', 'café'), ('tee-kanne', 'Tee Kanne'), ('spon', 'spoon'),
])
def test_warns_of_nearly_the_same_name(typed, known):
    assert near_duplicates(typed, ['zebra', known]) == [known]


@pytest.mark.parametrize(('typed', 'known'), [
    ('cup', 'cap'), ('shelf 1', 'shelf 2'), ('left hand', 'right hand'), ('table', 'cable'),
])
def test_does_not_warn_of_another_thing(typed, known):
    assert near_duplicates(typed, [known]) == []


def test_a_known_name_is_not_a_duplicate():
    assert near_duplicates('cup', ['cups', 'cup']) == []


def test_most_similar_name_comes_first():
    assert near_duplicates('spoons', ['spoones', 'Spoons', 'spoon']) == [
        'Spoons', 'spoones', 'spoon']


def test_matching_finds_beginnings_before_insides():
    assert matching('PA', ['spade', 'pan', 'lamp', 'Paper']) == ['pan', 'Paper', 'spade']


def test_completion_stops_where_names_part():
    known = ['tomato', 'tomato soup', 'Tomb']
    assert completion('t', known) == 'tom'
    assert completion('toma', known) == 'tomato'
    assert completion('x', known) == 'x'
    assert completion('', known) == ''
