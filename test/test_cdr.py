# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Our parser of our own messages, against the library rosbags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros import conversions
from proemlc_ros.bags.message_types import RosbagsMessages, read_any_version
from proemlc_ros.cdr import is_whole, read_annotation, read_event, read_vector
from proemlc_ros.records import (
    WHOLE,
    Annotation,
    Event,
    EventKind,
    Region,
    StampedVector,
)

MESSAGES = RosbagsMessages()
stamps = st.integers(0, 2**31 * 10**9 - 1)
texts = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=9)
names = st.lists(texts, max_size=4).map(tuple)
places = st.floats(allow_nan=False)
numbers = st.integers(0, 2**64 - 1)
regions = st.builds(Region, texts, places, places, places, places)
vectors = st.lists(st.floats(width=32, allow_nan=False), max_size=9).map(
    lambda values: np.array(values, np.float32))


def features_data(vector, frame_id=''):
    message = conversions.feature_vector_message(MESSAGES, vector, frame_id)
    return MESSAGES.serialize(message, conversions.FEATURES_TYPE)


def annotation_data(annotation):
    message = conversions.annotation_message(MESSAGES, annotation, annotation.entry)
    return MESSAGES.serialize(message, conversions.ANNOTATION_TYPE)


def event_data(event):
    message = conversions.event_message(MESSAGES, event, event.entry)
    return MESSAGES.serialize(message, conversions.EVENT_TYPE)


@given(stamps, vectors, texts, texts, texts, regions, st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_feature_vectors(stamp, values, extractor, frame_id, topic, region, count):
    data = features_data(StampedVector(stamp, values, extractor, topic, region, count), frame_id)
    expected = conversions.stamped_vector_of(MESSAGES.deserialize(data, conversions.FEATURES_TYPE))
    found = read_vector(data)
    assert found._replace(data=None)[:] == expected._replace(data=None)[:]
    assert (found.source_topic, found.region, found.region_count) == (topic, region, count)
    np.testing.assert_array_equal(found.data, expected.data)


@given(stamps, names, names, st.booleans(), vectors, texts, texts, regions, numbers)
@settings(deadline=None)
def test_annotations(stamp, labels, absent, complete, values, extractor, annotator, region, entry):
    data = annotation_data(Annotation(
        stamp, labels, absent, complete, values, extractor, annotator, region, entry=entry))
    expected = conversions.annotation_of(MESSAGES.deserialize(data, conversions.ANNOTATION_TYPE))
    found = read_annotation(data)
    assert found.entry == entry
    for name in ('stamp', 'labels', 'absent', 'complete', 'extractor', 'annotator', 'region'):
        assert getattr(found, name) == getattr(expected, name)
    np.testing.assert_equal(found.features, expected.features)


@given(st.builds(Event, st.sampled_from(EventKind), stamps, texts, texts, texts,
                 numbers, names.map(conversions.distinct),
                 names.map(conversions.distinct), st.booleans(), texts, numbers))
@settings(deadline=None)
def test_events(event):
    assert read_event(event_data(event)) == event


def test_an_event_of_a_newer_version_is_whole_but_not_read():
    data = bytearray(event_data(Event(EventKind.LOAD, 6, file_name='kitchen.npz')))
    assert data.count(EventKind.LOAD) == 1
    data[data.rindex(EventKind.LOAD)] = 200
    assert is_whole(bytes(data), conversions.EVENT_TYPE)
    assert read_event(bytes(data)) is None


# Each with the bytes that earlier versions wrote of the same: no region, no later fields.
@pytest.mark.parametrize(('type_name', 'data', 'earlier'), [
    (conversions.FEATURES_TYPE,
     features_data(StampedVector(5, np.ones(9, np.float32), 'x/12345')), [72]),
    (conversions.ANNOTATION_TYPE, annotation_data(
        Annotation(5, ('cup', 'red'), ('fork',), False, np.ones(9, np.float32), 'x/1', 'Ada')),
     [112, 156]),
    (conversions.EVENT_TYPE, event_data(Event(EventKind.RENAME, 5, 'cup', 'mug', 'm.npz')),
     [46, 77]),
])
def test_no_part_of_a_message_is_whole(type_name, data, earlier):
    assert is_whole(data, type_name)
    whole = [length for length in range(len(data)) if is_whole(data[:length], type_name)]
    assert set(whole) <= {length + padding for length in earlier for padding in range(4)}, whole
    assert {*earlier} <= {*whole}


def test_what_an_earlier_version_wrote_has_no_region():
    vector = features_data(StampedVector(5, np.ones(9, np.float32), 'x/12345'))[:72]
    assert read_vector(vector)[2:] == ('x/12345', '', WHOLE, 0)
    annotation = annotation_data(Annotation(
        5, ('cup', 'red'), ('fork',), False, np.ones(9, np.float32), 'x/1', 'Ada'))[:112]
    assert read_annotation(annotation).region == WHOLE
    event = Event(EventKind.RENAME, 5, 'cup', 'mug', 'm.npz')
    assert read_event(event_data(event)[:46]) == event


@given(st.data())
@settings(deadline=None)
def test_whatever_is_not_plain_is_left_to_the_library(data):
    """Cut or altered bytes give None or what the library gives, never anything else."""
    original = annotation_data(Annotation(5, ('cup', 'red'), features=np.ones(3, np.float32)))
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(0, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(changed[:data.draw(st.integers(0, len(changed)))])
    for read, convert, name in (
            (read_annotation, conversions.annotation_of, conversions.ANNOTATION_TYPE),
            (read_vector, conversions.stamped_vector_of, conversions.FEATURES_TYPE)):
        assert is_whole(changed, name) == (read(changed) is not None)
        found = read(changed)
        if found is not None:
            expected = convert(read_any_version(name, MESSAGES.store, changed))
            assert found.stamp == expected.stamp and found.extractor == expected.extractor


def test_big_endian_is_left_to_the_library():
    vector = StampedVector(5, np.ones(2, np.float32))
    message = conversions.feature_vector_message(MESSAGES, vector)
    data = bytes(MESSAGES.store.serialize_cdr(
        message, conversions.FEATURES_TYPE, little_endian=False))
    assert read_vector(data) is None
    assert MESSAGES.deserialize(data, conversions.FEATURES_TYPE).data[1] == 1


@pytest.mark.parametrize('extra', [1, 4, 9])
def test_bytes_too_many(extra):
    data = features_data(StampedVector(5, np.ones(2, np.float32), 'x/1')) + bytes(extra)
    assert (read_vector(data) is None) == (extra > 3)
