# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One operator's annotation draft."""

import pytest
from recorder import prediction, vector

from proemlc_ros.operator.draft import AnnotationDraft, annotation_at
from proemlc_ros.operator.recent import RecentVectors


def test_annotation_has_stamp_and_features_of_the_frozen_prediction():
    vectors = RecentVectors(max_count=2)
    draft = AnnotationDraft(vectors, 'ann')
    vectors.add(vector(7))
    draft.freeze(prediction(7))
    for stamp in range(100, 200):  # the operator types slowly, the stream goes on
        vectors.add(vector(stamp))
    draft.press('cup')
    annotation = draft.annotation()
    assert (annotation.stamp, annotation.labels, annotation.extractor) == (7, ('cup',), 'test/1')
    assert annotation.features.tolist() == [7, 7, 7]
    assert (annotation.complete, annotation.annotator) == (True, 'ann')


def test_annotation_of_a_dropped_vector_keeps_its_stamp():
    annotation = annotation_at(RecentVectors(), 42, ('cup',))
    assert (annotation.stamp, annotation.features) == (42, None)


def test_marks_step_from_present_to_absent_to_none():
    draft = AnnotationDraft(RecentVectors())
    draft.freeze(prediction(1))
    assert [draft.press('cup') for _ in range(4)] == [True, False, None, True]


def test_absent_mark_leaves_the_rest_unknown():
    draft = AnnotationDraft(RecentVectors())
    draft.freeze(prediction(1))
    draft.mark('bowl', present=False)
    annotation = draft.annotation()
    assert (annotation.labels, annotation.absent, annotation.complete) == ((), ('bowl',), False)


def test_freezing_another_prediction_drops_the_marks_and_the_same_one_keeps_them():
    draft = AnnotationDraft(RecentVectors())
    draft.freeze(prediction(1))
    draft.press('cup')
    draft.freeze(prediction(1))
    assert draft.marks == {'cup': True}
    draft.freeze(prediction(2))
    assert draft.marks == {}


def test_nothing_frozen_gives_no_annotation():
    with pytest.raises(ValueError, match='frozen'):
        AnnotationDraft(RecentVectors()).annotation()


def test_mark_of_a_label_that_was_renamed_elsewhere_is_dropped_and_a_typed_one_stays():
    draft = AnnotationDraft(RecentVectors())
    draft.freeze(prediction(1))
    draft.press('cups')
    draft.press('brand new')
    assert draft.drop_lost({'cups'}, {'cup'}) == ['cups']
    assert draft.marks == {'brand new': True}
