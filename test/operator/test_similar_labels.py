# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Completion, and the warning of near duplicates."""

import pytest

from proemlc_ros.operator.similar import completion, matching, near_duplicates


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
