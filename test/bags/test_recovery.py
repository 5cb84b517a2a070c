# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recovery of damaged storage files: each message whose bytes are all there, and no other."""

import os
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.recovery import is_damaged
from proemlc_ros.bags.sources import FLOAT_ARRAY_TYPE
from proemlc_ros.bags.writer import make_bag
from proemlc_ros.errors import BagError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind

MESSAGES = RosbagsMessages()


def array_message(number, width):
    """Return a message whose last bytes are values, none of them zero."""
    layout = MESSAGES.new('std_msgs/msg/MultiArrayLayout', dim=[], data_offset=0)
    values = np.full(width, number + 1, np.float32)
    return MESSAGES.new(FLOAT_ARRAY_TYPE, layout=layout, data=values)


def array_bag(path, count, width):
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        topic = writer.add_connection('/array', FLOAT_ARRAY_TYPE, typestore=MESSAGES.store)
        for number in range(count):
            data = MESSAGES.serialize(array_message(number, width), FLOAT_ARRAY_TYPE)
            writer.write(topic, number + 1, data)
    return path / f'{path.name}.db3'


def recovered_arrays(path):
    """Return the values of all readable messages by their number, from the time on."""
    with BagReader(path, best_effort=True) as bag:
        return {message.time - 1: np.asarray(message.message.data)
                for message in bag.messages(bag.topics)}


def page_of(file, text):
    """Return the number of the page that holds some bytes."""
    return file.read_bytes().index(text) // 4096


@pytest.mark.parametrize(('count', 'width'), [(2000, 30), (200, 1500), (100, 5000)])
@pytest.mark.parametrize('share', [0.35, 0.6, 0.9])
def test_no_value_is_invented(tmp_path, count, width, share):
    """Zeros for missing pages would give whole messages with zeros among their values."""
    file = array_bag(tmp_path / 'bag', count, width)
    os.truncate(file, int(file.stat().st_size * share))
    found = recovered_arrays(tmp_path / 'bag')
    assert found
    for number, values in found.items():
        np.testing.assert_array_equal(values, np.full(width, number + 1, np.float32))


@pytest.mark.parametrize('damage', [b'\xff', b'\0'])
def test_all_messages_around_a_damaged_page_are_recovered(tmp_path, damage):
    width = 20  # 35 messages or so on a page.
    file = array_bag(tmp_path / 'bag', 2000, width)
    page = page_of(file, np.full(width, 1000, np.float32).tobytes())
    data = bytearray(file.read_bytes())
    before = {number for number in range(2000) if np.full(
        width, number + 1, np.float32).tobytes() in data[page * 4096:(page + 1) * 4096]}
    data[page * 4096:(page + 1) * 4096] = damage * 4096
    file.write_bytes(data)
    # A message that began on the page and ends on the next is the only other that may be lost.
    lost = set(range(2000)) - recovered_arrays(tmp_path / 'bag').keys()
    assert before <= lost and len(lost - before) <= 1


def journal_of(folder, count):
    journal = Journal(folder)
    for number in range(1, count + 1):
        values = np.random.default_rng(number).normal(size=300).astype(np.float32)
        journal.append([Annotation(number, ('cup',), features=values, annotator='Ada'),
                        Event(EventKind.RENAME, number, 'cup', 'cup')])
    journal.close()
    return folder / f'{folder.name}_0.db3'


def test_the_journal_recovers_what_the_reader_does_and_more(tmp_path):
    """Entries prove themselves, so those on pages that nothing leads to are taken as well."""
    file = journal_of(tmp_path / 'journal', 100)
    os.truncate(file, 100_000)
    with BagReader(tmp_path / 'journal', best_effort=True) as bag:
        read = [message.message.header.stamp.nanosec for message in bag.messages(bag.topics)]
    journal = Journal(tmp_path / 'journal')
    stamps = [entry.record.stamp for entry in journal.entries()]
    assert stamps[:len(read)] == read
    assert 50 < len(read) <= len(stamps) < 200


def test_the_damaged_journal_file_is_kept_and_nothing_else_stays(tmp_path):
    file = journal_of(tmp_path / 'journal', 100)
    os.truncate(file, 100_000)
    damaged = file.read_bytes()
    Journal(tmp_path / 'journal').close()
    assert sorted(path.name for path in (tmp_path / 'journal').iterdir()) == [
        'journal_0.db3', 'journal_0.db3.damaged', 'metadata.yaml']
    assert (tmp_path / 'journal/journal_0.db3.damaged').read_bytes() == damaged


def test_a_log_is_applied_before_the_file_is_judged(tmp_path, samples):
    """A recorder killed within a transaction leaves half-written pages, and the log to undo it."""
    make_bag(tmp_path / 'bag', samples, 'sqlite3')
    with closing(sqlite3.connect(tmp_path / 'bag/bag.db3')) as database:
        # With hardly any cache, pages reach the file before the transaction is committed.
        database.execute('PRAGMA cache_size = 1')
        database.execute('DELETE FROM messages WHERE id > 10')
        database.executemany(
            'INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))', zip(range(500, 600)))
        shutil.copytree(tmp_path / 'bag', tmp_path / 'killed')
    assert is_damaged(tmp_path / 'killed/bag.db3')
    with BagReader(tmp_path / 'killed', best_effort=True) as bag:
        assert len(list(bag.messages(bag.topics))) == 120
        assert bag.notes == []


@pytest.mark.parametrize('suffix', ['-wal', '-journal'])
def test_a_log_that_cannot_be_applied(tmp_path, samples, suffix):
    make_bag(tmp_path / 'bag', samples, 'sqlite3')
    file = tmp_path / 'bag/bag.db3'
    file.write_bytes(b'not a bag at all' * 100)
    file.with_name(f'bag.db3{suffix}').write_bytes(b'not a log at all' * 100)
    with pytest.raises(BagError, match='--best-effort'):
        BagReader(tmp_path / 'bag')
    with pytest.raises(BagError, match='nothing in it is readable'):
        BagReader(tmp_path / 'bag', best_effort=True)
