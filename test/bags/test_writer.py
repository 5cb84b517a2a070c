# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags that are written: of samples, and copies with annotations added."""

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader
from rosbags.interfaces import MessageDefinitionFormat

from proemlc_ros.bags.message_types import default_typestore
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.writer import DEFAULT_START, annotate_bag, make_bag, read_label_spans
from proemlc_ros.conversions import annotation_of
from proemlc_ros.errors import BagError, DataSetError


def test_other_readers_understand_it_without_knowing_us(bag, samples):
    # No default typestore: the definitions in the bag have to do.
    with AnyReader([bag]) as reader:
        assert {c.msgdef.format for c in reader.connections} == {MessageDefinitionFormat.MSG}
        read = [(c.topic, time, reader.deserialize(data, c.msgtype))
                for c, time, data in reader.messages()]
    assert [topic for topic, _, _ in read[:4]] == 2 * ['/proemlc/features', '/proemlc/annotations']
    features = [m for topic, _, m in read if topic.endswith('features')]
    annotations = [m for topic, _, m in read if topic.endswith('annotations')]
    for (values, labels), vector, annotation in zip(samples, features, annotations, strict=True):
        np.testing.assert_array_equal(vector.data, values)
        assert tuple(annotation.labels) == labels and annotation.complete
        assert annotation.header.stamp == vector.header.stamp


def test_metadata_counts_and_hashes_are_right(bag, storage):
    metadata = yaml.safe_load((bag / 'metadata.yaml').read_text())
    information = metadata['rosbag2_bagfile_information']
    assert information['version'] == 9
    assert information['storage_identifier'] == storage
    assert information['message_count'] == 120
    assert information['starting_time']['nanoseconds_since_epoch'] == DEFAULT_START
    assert information['duration']['nanoseconds'] == round(59.5 * 1e8)
    store = default_typestore()
    for topic in information['topics_with_message_count']:
        assert topic['message_count'] == 60
        described = topic['topic_metadata']
        assert described['type_description_hash'] == store.hash_rihs01(described['type'])
    assert [file['message_count'] for file in information['files']] == [120]


def test_an_existing_folder_is_not_overwritten(bag, samples):
    before = (bag / 'metadata.yaml').read_bytes()
    with pytest.raises(BagError, match='exists already'):
        make_bag(bag, samples)
    assert (bag / 'metadata.yaml').read_bytes() == before


def test_nothing_stays_behind_after_an_error(tmp_path, samples):
    def failing():
        yield samples[0]
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        make_bag(tmp_path / 'bag', failing())
    assert not (tmp_path / 'bag').exists()


def test_a_folder_that_cannot_be_made(tmp_path, samples):
    (tmp_path / 'file').write_text('')
    with pytest.raises(BagError, match='cannot be written'):
        make_bag(tmp_path / 'file' / 'bag', samples)


TEXT = """start,end,labels
1,2,wall
1.5,3,door; open
5,,person
"""


def annotated(path, spans, target, topic='/scan', **options):
    with BagReader(path) as bag:
        count = annotate_bag(bag, target, spans, bag.topic(topic), **options)
        original = bag.count
    with BagReader(target) as bag:
        annotations = [annotation_of(message) for _, _, message
                       in bag.messages([bag.topic('/proemlc/annotations')])]
        stamps = [(time, message.header.stamp)
                  for _, time, message in bag.messages([bag.topic(topic)])]
        assert bag.count == original + count
    return annotations, [(time, stamp.sec * 10**9 + stamp.nanosec) for time, stamp in stamps]


def spans_of(tmp_path, text):
    (tmp_path / 'labels.csv').write_text(text)
    return read_label_spans(tmp_path / 'labels.csv')


def test_spans_and_single_messages(tmp_path, shared, storage):
    annotations, messages = annotated(
        shared / 'bags' / 'lidar_nanaaaiya_p1', spans_of(tmp_path, TEXT), tmp_path / 'out',
        storage=storage)
    start = messages[0][0]
    expected = []
    for time, stamp in messages:
        seconds = (time - start) / 1e9
        names = ('wall',) * (1 <= seconds <= 2) + ('door', 'open') * (1.5 <= seconds <= 3)
        if names:
            expected.append((stamp, names))
    nearest = min(messages, key=lambda message: abs(message[0] - start - 5_000_000_000))
    expected.append((nearest[1], ('person',)))
    assert len(messages) == 277
    assert [(one.stamp, one.labels) for one in annotations] == expected
    assert all(one.complete and one.features is None for one in annotations)


def test_dates_instead_of_seconds_from_the_start(tmp_path, shared):
    spans = spans_of(tmp_path, 'time,labels,absent,complete\n1731916716.688574090,a,b;c,false\n')
    (one,), messages = annotated(shared / 'bags' / 'lidar_nanaaaiya_p1', spans, tmp_path / 'out',
                                 relative=False, annotator='Ada')
    assert (one.stamp, one.labels, one.absent, one.complete, one.annotator) == (
        messages[0][1], ('a',), ('b', 'c'), False, 'Ada')


def test_a_bag_with_definitions_keeps_them(tmp_path, bag):
    annotations, _ = annotated(bag, spans_of(tmp_path, 'time,labels\n1,wall\n'),
                               tmp_path / 'out', '/proemlc/features')
    # All 60 messages were annotated before.
    assert len(annotations) == 61
    with AnyReader([tmp_path / 'out']) as reader:
        assert all(connection.msgdef.data for connection in reader.connections)
        assert len([reader.deserialize(data, connection.msgtype)
                    for connection, _, data in reader.messages()]) == 121


@pytest.mark.slow
def test_a_bag_with_unknown_types_is_copied_whole(tmp_path, shared):
    spans = spans_of(tmp_path, 'time,labels\n5,wall\n')
    annotations, _ = annotated(shared / 'bags' / 'webots_walker', spans, tmp_path / 'out')
    assert len(annotations) == 1
    with (BagReader(shared / 'bags' / 'webots_walker') as before,
          BagReader(tmp_path / 'out') as after):
        counts = {topic.name: topic.count for topic in after.topics}
        for topic in before.topics:
            if topic.count:
                assert counts[topic.name] == topic.count
        names = {topic.name for topic in before.topics}
        same = zip(before.raw(names), after.raw(names), strict=True)
        assert all((a[0].topic, a[1], a[2]) == (b[0].topic, b[1], b[2]) for a, b in same)
        # Also types as in an older distribution, by the definition that is now in the bag.
        readable = [topic for topic in after.topics if topic.readable]
        assert len(list(after.messages(readable))) == 24374 - 792 + 1
    with AnyReader([tmp_path / 'out']) as reader:
        connections = [c for c in reader.connections if c.topic == '/ps0']
        for connection, _, data in reader.messages(connections):
            assert not hasattr(reader.deserialize(data, connection.msgtype), 'variance')


@pytest.mark.parametrize(('text', 'word'), [
    ('', 'is empty'),
    ('labels\ncup\n', ':1: the header'),
    ('start,labels,colour\n1,cup,red\n', ':1: the header'),
    ('start,labels\n', 'no lines'),
    ('start,labels\nsoon,cup\n', ":2: 'soon' is not a time"),
    ('start,labels\n-1,cup\n', ":2: '-1' is not a time"),
    ('start,end,labels\n5,4,cup\n', ':2: the end 4 is before the start 5'),
    ('start,labels\n1,cup,more\n', ':2: 3 values for 2'),
    ('start,labels,complete\n1,cup,maybe\n', ':2: complete is'),
    ('start,labels\n1,c\x07p\n', ':2: the label'),
])
def test_a_wrong_file_is_named_with_its_line(tmp_path, text, word):
    with pytest.raises(DataSetError) as caught:
        spans_of(tmp_path, text)
    assert word in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(DataSetError, match='cannot be read'):
        read_label_spans(tmp_path / 'none.csv')


def test_times_outside_of_the_bag(tmp_path, shared):
    for text in ('start,end,labels\n100,200,cup\n', 'time,labels\n100,cup\n'):
        with pytest.raises(DataSetError, match=r'line 2: .*lasts 29\.764 s'):
            annotated(shared / 'bags' / 'lidar_nanaaaiya_p1', spans_of(tmp_path, text),
                      tmp_path / 'out')
        assert not (tmp_path / 'out').exists()


def test_the_target_must_be_new(tmp_path, shared):
    with pytest.raises(BagError, match='exists already'):
        annotated(shared / 'bags' / 'lidar_nanaaaiya_p1', spans_of(tmp_path, TEXT), tmp_path)
