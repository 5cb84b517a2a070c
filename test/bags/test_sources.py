# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a bag has to learn from: topics, each annotation once, in the order of entries."""

from types import SimpleNamespace

import numpy as np
import pytest
from rosbags.rosbag2 import Writer

from proemlc_ros import conversions
from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import (
    FLOAT_ARRAY_TYPE,
    WINDOW,
    TopicSelection,
    _in_entry_order,
    extractor_pipeline,
    find_sources,
)
from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.errors import BagError, ExtractorError
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector

VALUES = np.arange(3, dtype=np.float32)


def records(path, selection=None):
    with BagReader(path) as bag:
        return list(find_sources(bag, selection).stream(bag))


def test_several_topics_of_features_need_a_name(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(5, VALUES), 1, '/left')
        bag.write_vector(StampedVector(6, VALUES), 2, '/right')
    with pytest.raises(BagError, match=r'/left, /right; name one: --features'):
        records(tmp_path / 'bag')
    ((time, vector),) = records(tmp_path / 'bag', TopicSelection(features='/right'))
    assert (time, vector.stamp) == (2, 6)


def test_annotations_of_one_topic_only(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(5, VALUES), 1)
        bag.write_annotation(Annotation(5, ('mine',)), 2, '/mine')
        bag.write_annotation(Annotation(5, ('yours',)), 3, '/yours')
    for selection, expected in (
            (None, [('mine',), ('yours',)]), (TopicSelection(annotations='/mine'), [('mine',)])):
        found = records(tmp_path / 'bag', selection)
        assert [one.labels for _, one in found if isinstance(one, Annotation)] == expected


def write_plain(path, type_name, messages):
    made = RosbagsMessages()
    with Writer(path, version=9) as writer:
        connection = writer.add_connection('/topic', type_name, typestore=made.store)
        for time, message in messages(made):
            writer.write(connection, time, made.serialize(message, type_name))


def test_arrays_without_a_header_get_the_time_of_their_arrival(tmp_path):
    def messages(made):
        layout = made.new('std_msgs/msg/MultiArrayLayout', dim=[], data_offset=0)
        yield 77, made.new(FLOAT_ARRAY_TYPE, layout=layout, data=VALUES)
    write_plain(tmp_path / 'bag', FLOAT_ARRAY_TYPE, messages)
    ((time, vector),) = records(tmp_path / 'bag', TopicSelection(features='/topic'))
    assert time == vector.stamp == 77
    np.testing.assert_array_equal(vector.data, VALUES)


def test_a_bag_without_sensors(tmp_path):
    def messages(made):
        yield 1, made.new('std_msgs/msg/String', data='hello')
    write_plain(tmp_path / 'bag', 'std_msgs/msg/String', messages)
    with pytest.raises(BagError, match=r'not exactly one sensor topic .*found: none'):
        records(tmp_path / 'bag')


def test_annotations_that_carry_features_need_no_others(tmp_path):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_annotation(Annotation(5, ('cup',), features=VALUES), 1)
    ((_, annotation),) = records(tmp_path / 'bag')
    np.testing.assert_array_equal(annotation.features, VALUES)


def test_an_event_of_an_unknown_kind(tmp_path):
    made = RosbagsMessages()
    with Writer(tmp_path / 'bag', version=9) as writer:
        for time, topic, type_name, message in (
                (5, '/annotations', conversions.ANNOTATION_TYPE, conversions.annotation_message(
                    made, Annotation(5, ('cup',), features=VALUES))),
                (7, '/events', conversions.EVENT_TYPE, conversions.event_message(
                    made, SimpleNamespace(**{**Event(EventKind.UNDO)._asdict(), 'kind': 200})))):
            connection = writer.add_connection(topic, type_name, typestore=made.store)
            writer.write(connection, time, made.serialize(message, type_name))
    with pytest.raises(BagError, match='at 7 ns is of the unknown kind 200'):
        records(tmp_path / 'bag')


def test_several_sensors_need_a_name(shared):
    with (BagReader(shared / 'bags' / 'klintan_sample', best_effort=True) as bag,
          pytest.raises(BagError, match=r'/image.*--extract TOPIC=EXTRACTOR')):
        find_sources(bag)


@pytest.mark.parametrize(('topic', 'extractor', 'error'), [
    ('/scan', 'magic', ExtractorError), ('/scan', 'colour_vectors', ExtractorError),
    ('/none', 'laser_profile', BagError)])
def test_extractors_that_do_not_fit(shared, topic, extractor, error):
    with (BagReader(shared / 'bags' / 'lidar_nanaaaiya_p1') as bag,
          pytest.raises(error)):
        find_sources(bag, TopicSelection(
            sensors=lambda bag: extractor_pipeline(bag, {topic: extractor})))


def test_bad_sensor_messages_are_counted_and_left_out(tmp_path):
    def messages(made):
        header = made.new('std_msgs/msg/Header', frame_id='', stamp=made.new(
            'builtin_interfaces/msg/Time', sec=5, nanosec=0))
        for number, ranges in enumerate(([], [1.0, 2.0, 3.0])):
            yield number + 1, made.new(
                'sensor_msgs/msg/LaserScan', header=header, angle_min=-1.0, angle_max=1.0,
                angle_increment=1.0, time_increment=0.0, scan_time=0.0, range_min=0.1,
                range_max=10.0, ranges=np.array(ranges, np.float32),
                intensities=np.empty(0, np.float32))
    write_plain(tmp_path / 'bag', 'sensor_msgs/msg/LaserScan', messages)
    with BagReader(tmp_path / 'bag') as bag:
        sources = find_sources(bag)
        found = list(sources.stream(bag))
    assert len(found) == 1 and sum(sources.rejects.values()) == 1


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


def ordered(*entries):
    """Return the numbers as they come; entries: time and number, 0 for a vector."""
    records = [(time, Annotation(time, (), entry=entry) if entry
                else StampedVector(time, np.zeros(1, np.float32))) for time, entry in entries]
    found = list(_in_entry_order(records, [one for one in entries if one[1]]))
    times = [time for time, _ in found]
    assert len(found) == len(records) and times == sorted(times)
    return [0 if isinstance(record, StampedVector) else record.entry for _, record in found]


@pytest.mark.parametrize(('recorded', 'expected'), [
    ([1, 2, 5], [1, 2, 5]),
    ([2, 1], [1, 2]),
    ([1, 4, 0, 3, 2, 5], [1, 0, 2, 3, 4, 5]),
    ([7, 9, 8, 0, 12, 10], [7, 8, 9, 0, 10, 12])])
def test_what_came_too_late_comes_in_its_place(recorded, expected):
    assert ordered(*enumerate(recorded)) == expected


def test_the_numbers_of_another_journal_wait_for_nothing():
    assert ordered((0, 7), (1, 8), (2 * WINDOW, 1), (2 * WINDOW + 1, 2)) == [7, 8, 1, 2]
