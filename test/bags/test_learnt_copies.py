# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of `ros2 bag record -a`: every annotation counts once, whichever topics hold it."""

import numpy as np
import pytest

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection, find_sources
from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.records import Annotation, StampedVector

SECOND = 1_000_000_000
SENT, LEARNT = '/proemlc/annotations', '/proemlc/learnt'


@pytest.fixture
def recorded(tmp_path):
    """Return a function that writes a bag and gives the annotations that are read from it."""
    def record(*annotations, selection=None, node='/proemlc', others=()):
        with BagWriter(tmp_path / 'bag') as bag:
            for number in range(1, 6):
                for name in (node, *others):
                    bag.write_vector(StampedVector(number * SECOND, np.ones(3, np.float32)),
                                     number * SECOND, f'{name}/features')
            for place, (topic, annotation) in enumerate(annotations):
                bag.write_annotation(annotation, 6 * SECOND + place, topic)
        with BagReader(tmp_path / 'bag') as bag:
            sources = find_sources(bag, selection)
            found = [record for _, record in sources.stream(bag)]
        assert sources.count == len(found)
        return [record for record in found if isinstance(record, Annotation)]
    return record


def said(annotations):
    return [(one.stamp // SECOND, one.labels) for one in annotations]


def test_a_copy_counts_once(recorded):
    found = recorded((SENT, Annotation(SECOND, ('cup',))), (LEARNT, Annotation(SECOND, ('cup',))),
                     (SENT, Annotation(2 * SECOND, ('cup', 'red'))),
                     (LEARNT, Annotation(2 * SECOND, ('cup', 'red'))))
    assert said(found) == [(1, ('cup',)), (2, ('cup', 'red'))]


def test_what_came_by_the_service_counts_as_well(recorded):
    found = recorded((SENT, Annotation(SECOND, ('cup',))), (LEARNT, Annotation(SECOND, ('cup',))),
                     (LEARNT, Annotation(2 * SECOND, ('cup',), annotator='page')))
    assert said(found) == [(1, ('cup',)), (2, ('cup',))]


def test_the_same_said_twice_counts_twice(recorded):
    twice = [(topic, Annotation(SECOND, ('cup',))) for topic in (SENT, LEARNT)] * 2
    assert said(recorded(*twice)) == [(1, ('cup',))] * 2


def test_of_copies_with_features_the_one_that_stays_gets_the_number(recorded):
    with_features = Annotation(SECOND, ('cup',), features=np.ones(3, np.float32))
    found, = recorded((SENT, with_features), (LEARNT, Annotation(SECOND, ('cup',), entry=17)))
    assert found.features is not None and found.entry == 17


def test_the_newest_vector_is_the_one_that_the_node_found(recorded):
    found = recorded((SENT, Annotation(0, ('cup',))), (LEARNT, Annotation(4 * SECOND, ('cup',))))
    assert said(found) == [(4, ('cup',))]


def test_a_copy_without_features_gives_way(recorded):
    features = np.array([1, 2, 3], np.float32)
    (found,) = recorded((SENT, Annotation(SECOND, ('cup',), features=features)),
                        (LEARNT, Annotation(SECOND, ('cup',))))
    np.testing.assert_array_equal(found.features, features)


def test_an_annotation_that_the_node_rejected_stays(recorded):
    """The rules of the evaluation decide about it, which may differ from those of the node."""
    found = recorded((SENT, Annotation(SECOND, ('cup',))), (SENT, Annotation(9 * SECOND, ('x',))),
                     (LEARNT, Annotation(SECOND, ('cup',))))
    assert said(found) == [(9, ('x',)), (1, ('cup',))]


def test_normal_forms_of_a_name_are_one(recorded):
    found = recorded((SENT, Annotation(SECOND, ('cafe\u0301',))),
                     (LEARNT, Annotation(SECOND, ('caf\u00e9',))))
    assert said(found) == [(1, ('caf\u00e9',))]


def test_a_named_topic_is_read_alone(recorded):
    found = recorded((SENT, Annotation(SECOND, ('cup',))), (LEARNT, Annotation(SECOND, ('cup',))),
                     (LEARNT, Annotation(2 * SECOND, ('red',))),
                     selection=TopicSelection(annotations=SENT))
    assert said(found) == [(1, ('cup',))]


def test_of_several_robots_only_the_one_whose_features_are_read(recorded):
    found = recorded(('/one/proemlc/annotations', Annotation(SECOND, ('cup',))),
                     ('/two/proemlc/annotations', Annotation(SECOND, ('plate',))),
                     selection=TopicSelection(features='/one/proemlc/features'),
                     node='/one/proemlc', others=['/two/proemlc'])
    assert said(found) == [(1, ('cup',))]
