# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages as steps: validated and matched as the node does it, and in blocks."""

import numpy as np

from proemlc_ros.classifier.matching import MatchingRules
from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation.annotation_stream import BLOCK, AnnotationBlock, AnnotationStream
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector

SECOND = 1_000_000_000


def vector(*values):
    return np.array(values, np.float32)


def stream_of(model=None, tolerance=0.0, **options):
    return AnnotationStream(MatchingRules(tolerance=tolerance), model, **options)


def annotated(steps):
    """Return features and labels of the annotations, in order."""
    return [(tuple(row), *labels) for block in steps if isinstance(block, AnnotationBlock)
            for row, labels in zip(block.rows, block.labels, strict=True)]


def test_the_rules_of_the_node():
    """Late, early, nearest, newest and carried features; wrong ones are counted by cause."""
    stream = stream_of(tolerance=0.1)
    steps = stream.steps([
        (100, StampedVector(10 * SECOND, vector(1, 0))),
        (200, Annotation(10 * SECOND, ('exact',))),
        (300, Annotation(11 * SECOND, ('early',))),
        (400, StampedVector(11 * SECOND, vector(0, 1))),
        (500, StampedVector(12 * SECOND, vector(1, 1))),
        (600, Annotation(0, ('newest',))),
        (700, Annotation(11 * SECOND + 50_000_000, ('nearest',))),
        (800, Annotation(1, ('carried',), features=vector(5, 5))),
        (900, StampedVector(13 * SECOND, vector(1, 2, 3))),
        (1000, StampedVector(13 * SECOND, vector(np.nan, 1))),
        (1100, Annotation(13 * SECOND, ('never',))),
        (1200, Annotation(12 * SECOND, ('bad\x07',))),
    ])
    assert annotated(steps) == [((1, 0), 'exact'), ((0, 1), 'early'), ((1, 1), 'newest'),
                                ((0, 1), 'nearest'), ((5, 5), 'carried')]
    assert stream.vectors == 3
    assert stream.rejects == {'wrong_width': 1, 'not_finite': 1, 'unknown_stamp': 1,
                              'bad_label': 1}


def test_a_block_keeps_what_was_said():
    said = [Annotation(1, ('cup',), ('red',), False, vector(1, 2)),
            Annotation(2, (), features=vector(3, 4))]
    (block,) = stream_of().steps(list(zip((5, 6), said)))
    np.testing.assert_array_equal(block.rows, [[1, 2], [3, 4]])
    assert block.learner_arguments() == {
        'labels': [('cup',), ()], 'absent': [('red',), ()], 'complete': [False, True]}
    assert (block.times, block.names(), len(block)) == ([5, 6], {'cup', 'red'}, 2)
    assert block.part(1).learner_arguments() == {'labels': [()], 'absent': None, 'complete': True}
    assert [one.labels for one in block.annotations()] == [('cup',), ()]


def test_blocks_end_where_they_are_full_and_before_events():
    said = Annotation(1, ('cup',), features=vector(1))
    messages = [(time, said) for time in range(BLOCK + 10)]
    messages.insert(BLOCK + 5, (0, Event(EventKind.UNDO)))
    steps = list(stream_of().steps(messages))
    assert [len(step) for step in steps if isinstance(step, AnnotationBlock)] == [BLOCK, 5, 5]
    assert isinstance(steps[2], Event)


def test_vectors_come_one_by_one_where_they_are_to_be_predicted():
    one, two = StampedVector(1, vector(1)), StampedVector(2, vector(2))
    steps = list(stream_of(yields_vectors=True).steps(
        [(1, one), (2, Annotation(1, ('cup',))), (3, two)]))
    assert steps[0] is one and len(steps[1]) == 1 and steps[2] is two


def test_a_trained_model_tells_width_and_extractor():
    model = ProEMLC(hidden_size=5, activation='relu')
    model.learn([[1.0, 2.0]], [['cup']])
    model.extra['extractor'] = 'maker/1'
    stream = stream_of(model)
    assert list(stream.steps([(1, StampedVector(1, vector(1))),
                              (2, StampedVector(2, vector(1, 2), 'other/1'))])) == []
    assert stream.rejects == {'wrong_width': 1, 'extractor_changed': 1}


def test_a_reset_forgets_everything_and_rejects_what_waits():
    stream = stream_of()
    steps = stream.steps([
        (1, StampedVector(SECOND, vector(1, 2), 'maker/1')), (2, Annotation(SECOND, ('cup',))),
        (3, Annotation(2 * SECOND, ('waits',))), (4, Event(EventKind.RESET)),
        (5, StampedVector(3 * SECOND, vector(1, 2, 3), 'other/1')),
        (6, Annotation(3 * SECOND, ('red',)))])
    assert annotated(steps) == [((1, 2), 'cup'), ((1, 2, 3), 'red')]
    assert stream.rejects == {'model_replaced': 1}
    assert list(stream.expected.known) == ['red'] and stream.expected.width == 3
