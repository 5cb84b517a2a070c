# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is refused at the door, and why."""

from __future__ import annotations

import numpy as np
import pytest

from proemlc_ros.classifier.limits import Limits, RateLimit, check_extractor, distinct
from proemlc_ros.classifier.records import Annotation, StampedVector
from proemlc_ros.classifier.validation import Validation, cause_of, text_of
from proemlc_ros.errors import LabelRejectedError, RateExceededError, VectorRejectedError

LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize(('values', 'cause'), [
    ([], 'empty_vector'), ([1, 2], 'wrong_width'), ([1, np.nan, 2], 'not_finite'),
    ([1, np.inf, 2], 'not_finite'), ([1, np.inf, -np.inf], 'not_finite'),
    (np.zeros(11), 'oversized_vector')])
def test_bad_vectors(values, cause):
    with pytest.raises(VectorRejectedError) as caught:
        Limits(max_width=10).check_vector(np.array(values, np.float32), 3)
    assert cause_of(caught.value) == cause
    assert text_of(caught.value)


def test_large_finite_values_pass():
    Limits().check_vector(np.full(3, LARGEST, np.float32), 3)


@pytest.mark.parametrize('name', [
    '', ' ', ' a', 'a ', 'a\n', 'a\tb', 'x\x00', '\x1b[2J', 'x' * 11, 'a\u200bb', 'a\u202eb',
    '\ud800', '\ue000', 'a\u2028b'])
def test_bad_names(name):
    with pytest.raises(LabelRejectedError):
        Limits(max_label_length=10).check_name(name)


@pytest.mark.parametrize('name', ['cup', 'red cup', 'Tässchen', '杯子', 'کتاب‌ها', '☕', '<b>'])
def test_good_names(name):
    Limits(max_label_length=10).check_name(name)


def test_labels_are_counted_with_the_new_ones():
    limits = Limits(max_labels=3)
    limits.check_annotation(Annotation(0, ('a', 'b', 'c')), ['a', 'b'])
    with pytest.raises(LabelRejectedError, match='max_labels'):
        limits.check_annotation(Annotation(0, ('c', 'd')), ['a', 'b'])
    with pytest.raises(LabelRejectedError, match='names 4 labels'):
        limits.check_annotation(Annotation(0, ('c',), ('d', 'e', 'f')), ())
    with pytest.raises(LabelRejectedError, match='present and as absent'):
        limits.check_annotation(Annotation(0, ('c',), ('c',)), ())


def test_extractors_are_compared_only_where_both_are_stated():
    check_extractor('', 'a/1')
    check_extractor('a/1', '')
    check_extractor('a/1', 'a/1')
    with pytest.raises(VectorRejectedError, match="'a/2'"):
        check_extractor('a/2', 'a/1')


def test_the_rate_limit_lets_a_second_of_messages_pass():
    limit = RateLimit(0)
    limit.check(0, 'vectors')
    limit.rate = 10
    for _ in range(10):
        limit.check(0, 'vectors')
    with pytest.raises(RateExceededError, match='10 vectors a second'):
        limit.check(0, 'vectors')
    limit.check(100_000_000, 'vectors')
    with pytest.raises(RateExceededError):
        limit.check(100_000_000, 'vectors')


def test_names_count_once():
    assert distinct(['b', 'a', 'b']) == ('b', 'a')


def test_the_first_vector_fixes_the_width_at_the_door():
    intake = Validation()
    intake.moment(StampedVector(1, np.zeros(3, np.float32), 'a/1'), 0)
    with pytest.raises(VectorRejectedError):
        intake.moment(StampedVector(2, np.zeros(4, np.float32)), 0)
    with pytest.raises(VectorRejectedError):
        intake.annotate(Annotation(0, ('x',), features=np.zeros(4, np.float32)), [], 0)
    with pytest.raises(LabelRejectedError):
        intake.annotate(Annotation(1, ('',)), [], 0)
    assert intake.annotate(Annotation(1, ('x',)), [], 0).annotation.extractor == 'a/1'
    assert intake.restart(None, '') == []
    intake.moment(StampedVector(2, np.zeros(4, np.float32)), 0)
