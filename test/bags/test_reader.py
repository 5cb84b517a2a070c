# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reading bags, whole and damaged."""

import re
import shutil
import sqlite3

import numpy as np
import pytest
from trials import hostile_bags

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.writer import DEFAULT_START, BagWriter, make_bag
from proemlc_ros.errors import BagError


def contents(path, best_effort=False):
    """Return all readable messages and the notes."""
    with BagReader(path, best_effort) as bag:
        topics = [topic for topic in bag.topics if topic.readable]
        return list(bag.messages(topics)), bag.notes


def storage_file(bag):
    (file,) = [file for file in bag.iterdir() if file.suffix in ('.db3', '.mcap')]
    return file


def cut(bag, share):
    data = storage_file(bag).read_bytes()
    storage_file(bag).write_bytes(data[:int(len(data) * share)])


def test_messages_come_in_recorded_order(bag, samples):
    messages, notes = contents(bag)
    assert notes == []
    assert len(messages) == 120
    assert [message.time for message in messages] == sorted(message.time for message in messages)
    np.testing.assert_array_equal(messages[0].message.data, samples[0][0])
    with BagReader(bag) as reader:
        assert reader.count == 120
        assert (reader.start, reader.end) == (messages[0].time, messages[-1].time)


def test_a_bare_storage_file_is_a_bag(bag):
    messages, notes = contents(storage_file(bag))
    assert len(messages) == 120 and notes == []


def test_missing_metadata(bag):
    (bag / 'metadata.yaml').unlink()
    with pytest.raises(BagError, match=r'metadata.yaml is missing; use --best-effort'):
        BagReader(bag)
    messages, notes = contents(bag, best_effort=True)
    assert len(messages) == 120
    assert 'metadata.yaml is missing' in notes[0]


@pytest.mark.parametrize('text', ['', 'nonsense: [', 'rosbag2_bagfile_information: {version: 5}'])
def test_unusable_metadata(bag, text):
    (bag / 'metadata.yaml').write_text(text)
    with pytest.raises(BagError, match='cannot be opened'):
        BagReader(bag)
    messages, notes = contents(bag, best_effort=True)
    assert len(messages) == 120
    assert 'metadata.yaml cannot be used' in notes[0]


@pytest.mark.parametrize('share', [0.5, 0.8, 0.95])
def test_a_cut_file(tmp_path, samples, storage, share):
    samples *= 20
    bag = tmp_path / 'bag'
    make_bag(bag, samples, storage)
    cut(bag, share)
    with pytest.raises(BagError, match='--best-effort'):
        contents(bag)
    messages, notes = contents(bag, best_effort=True)
    vectors = [message.message.data for message in messages if 'features' in message.topic.name]
    assert 0.4 * share * 1200 < len(vectors) <= 1200
    for vector, (values, _) in zip(vectors, samples, strict=False):
        np.testing.assert_array_equal(vector, values)
    assert any('damaged' in note and 'readable' in note for note in notes)


def test_most_of_a_cut_file_is_saved(bag):
    size = storage_file(bag).stat().st_size
    cut(bag, 1 - 600 / size)
    messages, _ = contents(bag, best_effort=True)
    assert len(messages) >= 80  # All except those of the last page.


def test_a_file_without_anything_readable(bag):
    storage_file(bag).write_bytes(b'not a bag at all' * 100)
    with pytest.raises(BagError):
        contents(bag, best_effort=True)


def test_the_damaged_file_itself_is_left_alone(bag):
    cut(bag, 0.8)
    before = {file.name: file.read_bytes() for file in bag.iterdir()}
    contents(bag, best_effort=True)
    assert {file.name: file.read_bytes() for file in bag.iterdir()} == before


def test_bytes_overwritten_in_the_middle(bag):
    data = bytearray(storage_file(bag).read_bytes())
    middle = len(data) // 2
    data[middle:middle + 3000] = b'\xff' * 3000
    storage_file(bag).write_bytes(data)
    with pytest.raises(BagError):
        contents(bag)
    try:
        contents(bag, best_effort=True)
    except BagError as error:
        assert 'readable' in str(error) or 'damaged' in str(error)


def sqlite_bag(tmp_path, samples):
    make_bag(tmp_path / 'old', samples, 'sqlite3')
    return tmp_path / 'old'


def change(bag, *statements):
    with sqlite3.connect(storage_file(bag)) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_old_type_names_and_no_definitions(tmp_path, samples):
    bag = sqlite_bag(tmp_path, samples)
    change(bag, "UPDATE topics SET type = replace(type, '/msg/', '/')",
           'DELETE FROM message_definitions')
    messages, notes = contents(storage_file(bag))
    assert len(messages) == 120
    assert messages[0].topic.type == 'proemlc_ros/msg/FeatureVector'
    assert any('old type name proemlc_ros/FeatureVector' in note for note in notes)
    assert any('no message definitions' in note for note in notes)


def test_an_unknown_type_is_named_and_the_rest_is_read(tmp_path, samples):
    bag = sqlite_bag(tmp_path, samples)
    change(bag, 'DELETE FROM message_definitions',
           "UPDATE topics SET type = 'acme_msgs/msg/Thing' WHERE name LIKE '%annotations'")
    messages, notes = contents(storage_file(bag))
    assert len(messages) == 60
    assert any('unknown type acme_msgs/msg/Thing' in note for note in notes)
    with (BagReader(storage_file(bag)) as reader,
          pytest.raises(BagError, match=r'unknown type acme_msgs/msg/Thing')):
        reader.topic('/proemlc/annotations')


def test_the_definition_in_the_bag_counts(tmp_path, samples):
    """A FeatureVector of another version than ours is read by the definition it came with."""
    bag = sqlite_bag(tmp_path, samples)
    change(bag, 'DELETE FROM messages WHERE topic_id = 1',
           "UPDATE topics SET type_description_hash = ''",
           "UPDATE message_definitions SET encoded_message_definition = 'uint8 other' "
           "WHERE topic_type LIKE '%FeatureVector'",
           "INSERT INTO messages (topic_id, timestamp, data) VALUES (1, 5, x'0001000007')")
    messages, _ = contents(storage_file(bag))
    assert messages[0].message.other == 7


def test_unreadable_messages(tmp_path, samples):
    bag = sqlite_bag(tmp_path, samples)
    change(bag, "UPDATE messages SET data = x'00010000ff' WHERE id IN (1, 3)")
    with pytest.raises(BagError, match=r'/proemlc/features at 17\d+ ns cannot be read'):
        contents(bag)
    messages, notes = contents(bag, best_effort=True)
    assert len(messages) == 118
    assert '2 messages could not be read' in notes[-1]


def test_messages_still_in_the_log_of_sqlite(tmp_path, samples):
    """A recorder that was killed leaves its newest messages in a log beside the file."""
    bag = sqlite_bag(tmp_path, samples)
    database = sqlite3.connect(storage_file(bag))
    database.execute('PRAGMA journal_mode=WAL')
    database.execute('DELETE FROM messages WHERE id > 100')
    database.commit()
    shutil.copytree(bag, tmp_path / 'killed')
    database.close()
    messages, _ = contents(tmp_path / 'killed')
    assert len(messages) == 100


def test_splits_are_read_in_order(tmp_path, samples):
    (tmp_path / 'split').mkdir()
    for part in (2, 10, 1):
        make_bag(tmp_path / f'part_{part}', samples[:part], 'sqlite3', start=part * 10**12)
        shutil.move(tmp_path / f'part_{part}' / f'part_{part}.db3', tmp_path / 'split')
    messages, notes = contents(tmp_path / 'split', best_effort=True)
    assert len(messages) == 26 and 'metadata.yaml is missing' in notes[0]
    assert [message.time for message in messages] == sorted(message.time for message in messages)


@pytest.mark.parametrize('name', ['none', 'note.txt', 'empty'])
def test_no_bag_at_all(tmp_path, name):
    (tmp_path / 'note.txt').write_text('hello')
    (tmp_path / 'empty').mkdir()
    with pytest.raises(BagError, match=name):
        BagReader(tmp_path / name)


def test_the_error_of_an_unknown_topic_names_the_known_ones(bag):
    with BagReader(bag) as reader, pytest.raises(BagError, match='/proemlc/features'):
        reader.topic('/nothing')


def test_bags_of_other_people(shared):
    with pytest.raises(BagError, match='--best-effort'):
        BagReader(shared / 'bags' / 'klintan_sample')
    messages, notes = contents(shared / 'bags' / 'klintan_sample', best_effort=True)
    assert len(messages) == 5
    assert any('old type name sensor_msgs/Image' in note for note in notes)
    messages, _ = contents(shared / 'bags' / 'lidar_nanaaaiya_p1')
    assert len(messages) == 277
    # Ranges in the form of Humble, which is shorter than that of Jazzy, and one unknown type.
    messages, notes = contents(shared / 'bags' / 'webots_walker')
    assert len(messages) == 24374 - 792
    assert any('control_msgs/msg/DynamicJointState' in note for note in notes)


def test_the_files_are_right_where_the_metadata_is_behind(bag):
    text = (bag / 'metadata.yaml').read_text()
    (bag / 'metadata.yaml').write_text(
        text.replace('message_count: 120', 'message_count: 0').replace(
            'message_count: 60', 'message_count: 0'))
    with BagReader(bag) as reader:
        assert reader.count == 120
        assert reader.start == DEFAULT_START
        assert reader.notes == ['metadata.yaml counts 0 messages, the files hold 120']
        assert len(list(reader.messages(reader.topics))) == 120


@pytest.mark.parametrize('mode', ['sqlite3_message', 'sqlite3_file'])
@pytest.mark.parametrize('lost', ['metadata.yaml', 'a split'])
def test_a_compressed_bag_that_lost_a_file_is_read_and_copied(mode, lost, tmp_path):
    """Messages are unpacked whoever opens the files, so that a copy can be evaluated."""
    hostile_bags.seeds(tmp_path)
    path = tmp_path / mode
    if lost == 'metadata.yaml':
        (path / lost).unlink()
    else:
        text = (path / 'metadata.yaml').read_text()
        name = next(file.name for file in path.iterdir() if file.name != 'metadata.yaml')
        (path / 'metadata.yaml').write_text(re.sub(
            rf'^(\s*)- {name}$', rf'\1- {name}\n\1- gone_{name}', text, flags=re.MULTILINE))
    with pytest.raises(BagError, match='missing'):
        BagReader(path)
    with BagReader(path, best_effort=True) as bag, BagWriter(tmp_path / 'copy') as copy:
        assert len(list(bag.messages(bag.topics))) == 80
        for connection, time, data in bag.raw({topic.name for topic in bag.topics}):
            copy.copy(connection, bag.types, time, data)
    with BagReader(tmp_path / 'copy') as bag:
        assert len(list(bag.messages(bag.topics))) == 80


@pytest.mark.parametrize('name', ['old.bag', 'renamed.db'])
def test_a_bag_of_ros_1_is_told_by_its_name_or_content(name, tmp_path):
    (tmp_path / name).write_bytes(b'#ROSBAG V2.0\n' + bytes(50))
    with pytest.raises(BagError, match='a ROS 1 bag; .*rosbags-convert --src'):
        BagReader(tmp_path / name)
