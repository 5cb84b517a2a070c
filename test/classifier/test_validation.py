# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is rejected, and why."""

from __future__ import annotations

import numpy as np
import pytest

from proemlc_ros.classifier.validation import (
    ExpectedInput,
    Limits,
    RateLimit,
    distinct,
    validate_names,
    validate_sizes,
    validate_text,
    validate_vector,
)
from proemlc_ros.errors import (
    LabelRejectedError,
    RateExceededError,
    RejectedError,
    TextRejectedError,
    VectorRejectedError,
    cause_of,
    text_of,
)
from proemlc_ros.records import Annotation

LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize(('values', 'cause'), [
    ([], 'empty_vector'), ([1, 2], 'wrong_width'), ([1, np.nan, 2], 'not_finite'),
    ([1, np.inf, 2], 'not_finite'), ([1, np.inf, -np.inf], 'not_finite'),
    (np.zeros(11), 'oversized_vector')])
def test_bad_vectors(values, cause):
    with pytest.raises(VectorRejectedError) as caught:
        validate_vector(np.array(values, np.float32), '', 3, '', Limits(max_width=10))
    assert cause_of(caught.value) == cause
    assert text_of(caught.value)


def test_another_extractor_is_named_before_its_width():
    with pytest.raises(VectorRejectedError, match='~/reembed') as caught:
        validate_vector(np.zeros(4, np.float32), 'lite0/1', 3, 'colours/1', Limits())
    assert caught.value.cause == 'extractor_changed'


def test_large_finite_values_pass():
    validate_vector(np.full(3, LARGEST, np.float32), '', 3, '', Limits())


@pytest.mark.parametrize('name', [
    '', ' ', ' a', 'a ', 'a\n', 'a\tb', 'x\x00', '\x1b[2J', 'x' * 11, 'a\u200bb', 'a\u202eb',
    '\ud800', '\ue000', 'a\u2028b'])
def test_bad_names(name):
    with pytest.raises(LabelRejectedError):
        validate_names([name], Limits(max_label_length=10))


@pytest.mark.parametrize('name', ['cup', 'red cup', 'Tässchen', '杯子', 'کتاب‌ها', '☕', '<b>'])
def test_good_names(name):
    validate_names([name], Limits(max_label_length=10))


def accept(known, *labels, absent=(), complete=True):
    expected = ExpectedInput(known=dict.fromkeys(known), limits=Limits(max_labels=3))
    return expected.accept_annotation(
        Annotation(0, labels, absent, complete, np.zeros(2, np.float32)))


def test_labels_are_counted_with_the_new_ones():
    accept('ab', 'a', 'b', 'c')
    with pytest.raises(LabelRejectedError, match='max_labels'):
        accept('ab', 'c', 'd')
    with pytest.raises(LabelRejectedError, match='names 4 labels'):
        accept('', 'c', absent=('d', 'e', 'f'))
    with pytest.raises(LabelRejectedError, match='present and as absent'):
        accept('', 'c', absent=('c',))


def test_absent_names_become_labels_only_where_not_all_labels_are_stated():
    accept('ab', 'a', absent=('c', 'd'))
    with pytest.raises(LabelRejectedError, match='2 new labels'):
        accept('ab', 'a', absent=('c', 'd'), complete=False)


def test_names_come_in_their_normal_form_once():
    assert accept('', 'cafe\u0301', 'caf\u00e9').labels == ('caf\u00e9',)


def test_what_was_accepted_is_expected_of_the_next():
    expected = ExpectedInput(limits=Limits(max_labels=2))
    values = np.zeros(3, np.float32)
    expected.accept_annotation(Annotation(0, ('a', 'b'), features=values, extractor='x/1'))
    for wrong in [Annotation(0, ('c',), features=values),
                  Annotation(0, ('a',), features=values, extractor='x/2'),
                  Annotation(0, ('a',), features=np.zeros(4, np.float32))]:
        with pytest.raises(RejectedError):
            expected.accept_annotation(wrong)


def test_extractors_are_compared_only_where_both_are_stated():
    values = np.zeros(3, np.float32)
    for stated, learnt in [('', 'a/1'), ('a/1', ''), ('a/1', 'a/1')]:
        validate_vector(values, stated, 3, learnt, Limits())
    # Of another extractor and width: the extractor is the cause, and nothing taught is lost.
    for width in (3, 4):
        with pytest.raises(VectorRejectedError, match="'a/2'.*~/reembed") as raised:
            validate_vector(values, 'a/2', width, 'a/1', Limits())
        assert raised.value.cause == 'extractor_changed'


def test_the_rate_limit_lets_a_second_of_messages_pass():
    limit = RateLimit(0, 'vectors')
    limit.check(0)
    limit.rate = 10
    for _ in range(10):
        limit.check(0)
    with pytest.raises(RateExceededError, match='10 vectors per second'):
        limit.check(0)
    limit.check(100_000_000)
    with pytest.raises(RateExceededError):
        limit.check(100_000_000)


def test_names_count_once():
    assert distinct(['b', 'a', 'b']) == ('b', 'a')


@pytest.mark.parametrize('text', ['a' * 101, 'x' * 10**6, 'a\x1b[2J', 'a\nb', '\u200b', ' a'])
def test_texts_that_are_long_or_do_not_show_are_rejected(text):
    with pytest.raises(TextRejectedError) as caught:
        validate_text(text, 'annotator', 100)
    assert cause_of(caught.value) == 'bad_annotator'
    assert len(text_of(caught.value)) < 400 and text_of(caught.value).isprintable()


@pytest.mark.parametrize('text', ['', 'a' * 100, 'colour_moments/1+laser_profile/1', 'Zoë 杯'])
def test_usable_texts_pass(text):
    validate_text(text, 'extractor', 100)


@pytest.mark.parametrize(('annotation', 'cause'), [
    (Annotation(0, ('cup',), annotator='a' * 101), 'bad_annotator'),
    (Annotation(0, ('a' * 11,)), 'bad_label'), (Annotation(0, (), ('a' * 10**6,)), 'bad_label'),
    (Annotation(0, ('a', 'b', 'c'), ('d', 'e')), 'too_many_labels'),
    (Annotation(0, ('a',), features=np.zeros(6, np.float32)), 'oversized_vector')])
def test_annotations_too_large_to_be_held_are_rejected_at_once(annotation, cause):
    with pytest.raises(RejectedError) as caught:
        validate_sizes(annotation, tuple, Limits(4, 10, 5))
    assert cause_of(caught.value) == cause


def test_known_names_may_be_long_and_many():
    known = tuple(f'{number} of an older model file' for number in range(5))
    validate_sizes(Annotation(0, known), lambda: known, Limits(4, 10, 5))
