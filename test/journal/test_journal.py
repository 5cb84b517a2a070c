# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The journal is a valid bag, survives damage, and never repeats or loses an entry."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.errors import JournalError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind

MESSAGES = RosbagsMessages()


def make_annotation(number: int, width: int = 294) -> Annotation:
    values = np.random.default_rng(number).normal(size=width).astype(np.float32)
    return Annotation(1000 + number, ('cup', f'label {number}'), ('plate',), False, values,
                      'test/1', 'ann')


def open_journal(folder: Path, **options) -> Journal:
    return Journal(folder, **options)


def write(journal: Journal, count: int, width: int = 294) -> None:
    """Write annotations, a few in each transaction."""
    for start in range(0, count, 10):
        journal.append([make_annotation(number, width) for number in range(start, start + 10)])


def numbers_of(journal: Journal, after: int = 0) -> list[int]:
    return [entry.number for entry in journal.entries(after)]


def assert_same(first: Annotation, second: Annotation) -> None:
    assert (first.stamp, first.labels, first.absent, first.complete, first.extractor,
            first.annotator) == (second.stamp, second.labels, second.absent, second.complete,
                                 second.extractor, second.annotator)
    np.testing.assert_array_equal(first.features, second.features)


def test_entries_come_back_as_written(tmp_path):
    journal = open_journal(tmp_path / 'journal')
    annotation = make_annotation(1)
    event = Event(EventKind.RENAME, 7, 'cup', 'mug')
    assert journal.append([annotation, event]) == [1, 2]
    journal.close()
    first, second = open_journal(tmp_path / 'journal').entries()
    assert_same(first.record, annotation)
    assert second.record == event


def test_rosbags_reads_it_with_definitions_and_counts(tmp_path):
    from rosbags.highlevel import AnyReader
    from rosbags.rosbag2 import Reader
    journal = open_journal(tmp_path / 'journal', node_name='/robot/proemlc')
    journal.append([make_annotation(1), make_annotation(2)])
    journal.append([Event(EventKind.UNDO, 3)])
    journal.close()
    with Reader(tmp_path / 'journal') as reader:
        assert reader.message_count == 3
        assert 'version: 9' in (tmp_path / 'journal/metadata.yaml').read_text()
        assert {(c.topic, c.msgcount) for c in reader.connections} == {
            ('/robot/proemlc/annotations', 2), ('/robot/proemlc/events', 1),
            ('/robot/proemlc/pictures', 0)}
    # No type store given: the definitions come out of the bag.
    with AnyReader([tmp_path / 'journal']) as reader:
        messages = [reader.deserialize(data, connection.msgtype)
                    for connection, _, data in reader.messages()]
    assert messages[1].labels == ['cup', 'label 2']
    assert messages[2].kind == 1


def test_rosbags_reads_it_while_it_is_being_written(tmp_path):
    from rosbags.rosbag2 import Reader
    journal = open_journal(tmp_path / 'journal')
    journal.append([make_annotation(number) for number in range(1, 51)])
    with Reader(tmp_path / 'journal') as reader:
        assert len(list(reader.messages())) == 50
    assert journal.append([make_annotation(51)]) == [51]


def test_metadata_is_repaired_on_opening(tmp_path):
    journal = open_journal(tmp_path / 'journal')
    journal.append([make_annotation(1)])
    assert 'message_count: 0' in (tmp_path / 'journal/metadata.yaml').read_text()
    del journal  # As after a crash: never closed.
    open_journal(tmp_path / 'journal')
    text = (tmp_path / 'journal/metadata.yaml').read_text()
    assert '\n  message_count: 1\n' in text


def test_timestamps_rise_though_the_clock_steps_back(tmp_path):
    times = iter([100, 50, 50])
    journal = open_journal(tmp_path / 'journal', clock=lambda: next(times))
    for number in range(3):
        journal.append([make_annotation(number)])
    with sqlite3.connect(tmp_path / 'journal/journal_0.db3') as database:
        stamps = [row[0] for row in database.execute('SELECT timestamp FROM messages')]
    assert stamps == [100, 101, 102]


def test_files_are_split_and_numbering_goes_on(tmp_path):
    from rosbags.rosbag2 import Reader
    journal = open_journal(tmp_path / 'journal', max_file_bytes=100_000)
    write(journal, 200)
    journal.close()
    files = sorted(path.name for path in (tmp_path / 'journal').glob('*.db3'))
    assert len(files) > 2
    with Reader(tmp_path / 'journal') as reader:
        assert reader.message_count == 200
        assert len(list(reader.messages())) == 200
    again = open_journal(tmp_path / 'journal', max_file_bytes=100_000)
    assert numbers_of(again) == list(range(1, 201))
    assert numbers_of(again, after=150) == list(range(151, 201))
    assert again.entry(3).record.stamp == 1002
    assert again.append([make_annotation(200)]) == [201]


def test_oldest_files_go_only_when_a_snapshot_holds_them(tmp_path):
    journal = open_journal(tmp_path / 'journal', max_file_bytes=100_000, max_bytes=250_000)
    write(journal, 400)
    journal.checkpoint(up_to=0)
    assert numbers_of(journal) == list(range(1, 401))
    journal.checkpoint(up_to=400)
    kept = numbers_of(journal)
    assert kept[-1] == 400
    assert 0 < len(kept) < 200
    assert journal.size <= 250_000 + 100_000
    assert journal.entry(1) is None


@pytest.mark.parametrize('cut', [1, 100, 4096, 20_000])
def test_nothing_is_lost_when_the_last_bytes_are(tmp_path, cut):
    journal = open_journal(tmp_path / 'journal')
    write(journal, 60)
    path = tmp_path / 'journal/journal_0.db3'
    os.truncate(path, path.stat().st_size - cut)
    again = open_journal(tmp_path / 'journal')
    assert numbers_of(again) == list(range(1, 61))
    assert again.append([make_annotation(60)]) == [61]


@pytest.mark.parametrize('width', [294, 3000])
def test_what_a_deep_cut_leaves_is_recovered(tmp_path, width):
    from proemlc_ros.journal.sqlite_file import SqliteFile
    journal = open_journal(tmp_path / 'journal')
    write(journal, 60, width)
    journal.close()
    path = tmp_path / 'journal/journal_0.db3'
    file = SqliteFile(path)
    content = file.size
    file.close()
    os.truncate(path, content - content // 4 - 77)
    again = open_journal(tmp_path / 'journal')
    kept = list(again.entries())
    assert 30 <= len(kept) < 60
    for entry in kept:
        assert_same(entry.record, make_annotation(entry.number - 1, width))
    assert 'was damaged' in again.repairs[0]
    assert (tmp_path / 'journal/journal_0.db3.damaged').exists()
    # The records of the lost entries are left, so that they are named and numbering goes on.
    lost = set(range(1, 61)).difference(entry.number for entry in kept)
    assert {number for gap in again.missing() for number in gap} == lost
    assert again.append([make_annotation(60)]) == [61]


def test_a_file_of_rubbish_is_set_aside(tmp_path):
    journal = open_journal(tmp_path / 'journal')
    journal.append([make_annotation(1)])
    journal.close()
    (tmp_path / 'journal/journal_0.db3').write_bytes(b'rubbish' * 1000)
    again = open_journal(tmp_path / 'journal')
    assert numbers_of(again) == []
    assert again.append([make_annotation(2)]) == [2]  # The metadata tells that there was one.
    assert (tmp_path / 'journal/journal_0.db3.damaged').read_bytes().startswith(b'rubbish')


def test_a_full_disk_raises_and_the_next_append_passes(tmp_path, monkeypatch):
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, 'connect', lambda *args, **options: opened.append(
            connect(*args, **options)) or opened[-1])
    journal = open_journal(tmp_path / 'journal')
    journal.append([make_annotation(1)])
    database = opened[-1]
    database.execute('PRAGMA max_page_count = 12')  # What SQLite reports as a full disk.
    with pytest.raises(JournalError, match='full'):
        journal.append([make_annotation(number) for number in range(2, 50)])
    assert numbers_of(journal) == [1]
    assert 'full' in journal.problem
    # The file was opened again, without the limit.
    assert journal.append([make_annotation(2)]) == [2]
    assert not journal.problem


def test_a_folder_that_cannot_be_made_is_named_until_it_can(tmp_path):
    (tmp_path / 'file').write_text('')
    journal = open_journal(tmp_path / 'file' / 'journal')
    assert 'cannot write the journal' in journal.problem
    assert numbers_of(journal) == []
    with pytest.raises(JournalError, match='cannot write the journal'):
        journal.append([make_annotation(1)])
    (tmp_path / 'file').unlink()
    (tmp_path / 'file').mkdir()
    journal.retry()
    assert not journal.problem
    assert journal.append([make_annotation(1)]) == [1]
