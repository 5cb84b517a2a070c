# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A damaged journal: every entry that proves itself is taken, the others are named, it opens."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation

MESSAGES = RosbagsMessages()
COUNT = 120
WIDTH = 20
EARLIER = Path(__file__).parent / 'data/earlier_model_directory/model_directory/journal'


def make_annotation(number: int) -> Annotation:
    values = np.full(WIDTH, number, np.float32)
    return Annotation(number, (f'label {number % 7}',), features=values)


def write(folder: Path, start: int, stop: int, **options) -> None:
    journal = Journal(folder, **options)
    for first in range(start, stop + 1, 20):
        numbers = list(range(first, min(first + 20, stop + 1)))
        assert journal.append([make_annotation(number) for number in numbers]) == numbers
    journal.close()


@pytest.fixture(scope='module')
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp('template') / 'journal'
    write(folder, 1, COUNT)
    return folder


@pytest.fixture
def folder(template, tmp_path):
    return shutil.copytree(template, tmp_path / 'journal')


@pytest.fixture
def file(folder):
    return folder / 'journal_0.db3'


def stamps(journal: Journal) -> list[int]:
    """Return the stamps of all entries, which must be as they were written."""
    found = []
    for entry in journal.entries():
        assert entry.record.stamp == entry.number
        assert (entry.record.features == entry.number).all()
        found.append(entry.number)
    return found


def lost(journal: Journal) -> list[int]:
    return [number for gap in journal.missing() for number in gap]


def flip(file: Path, place: int, bit: int) -> None:
    with file.open('r+b') as stream:
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ 1 << bit]))


def content_bytes(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        return database.execute('PRAGMA page_count').fetchone()[0] * 4096


def test_a_changed_value_is_noticed_and_named(folder, file):
    place = file.read_bytes().index(np.full(WIDTH, 40, np.float32).tobytes())
    flip(file, place + 4, 3)
    journal = Journal(folder)
    assert stamps(journal) == [n for n in range(1, COUNT + 1) if n != 40]
    assert lost(journal) == [40]
    assert 'entries 40 are lost' in journal.repairs[0]
    assert (folder / 'journal_0.db3.damaged').exists()
    # The gap stays known, the repair is not repeated.
    journal.close()
    again = Journal(folder)
    assert (lost(again), again.repairs) == ([40], [])
    assert again.append([make_annotation(121)]) == [121]


def test_random_bit_flips_change_nothing_in_silence(template, tmp_path):
    dice = random.Random(5)
    size = content_bytes(template / 'journal_0.db3')
    for trial in range(60):
        folder = shutil.copytree(template, tmp_path / str(trial) / 'journal')
        flip(folder / 'journal_0.db3', dice.randrange(size), dice.randrange(8))
        journal = Journal(folder)
        found = stamps(journal)  # None of them is other than it was written.
        gone = set(range(1, COUNT + 1)).difference(found)
        assert gone <= {*lost(journal)} or journal.repairs, (trial, gone)
        journal.close()


def test_all_entries_around_a_damaged_page_are_taken(folder, file):
    data = bytearray(file.read_bytes())
    page = data.index(np.full(WIDTH, 60, np.float32).tobytes()) // 4096 * 4096
    on_page = [number for number in range(1, COUNT + 1)
               if np.full(WIDTH, number, np.float32).tobytes() in data[page:page + 4096]]
    data[page:page + 4096] = os.urandom(4096)
    file.write_bytes(data)
    journal = Journal(folder)
    assert lost(journal) == on_page
    assert stamps(journal) == [n for n in range(1, COUNT + 1) if n not in on_page]


def test_entries_whose_records_are_lost_are_proven_by_the_chain(folder, file):
    with closing(sqlite3.connect(file)) as database, database:
        database.execute('DELETE FROM proemlc_entries WHERE id BETWEEN 30 AND 50')
        database.execute("UPDATE proemlc_entries SET digest = x'00' || substr(digest, 2) "
                         'WHERE id = 70')
        database.execute("UPDATE proemlc_entries SET chain = x'00' || substr(chain, 2) "
                         'WHERE id = 90')
    journal = Journal(folder)
    assert stamps(journal) == list(range(1, COUNT + 1))
    assert lost(journal) == []
    assert 'no entry is known to be lost' in journal.repairs[0]
    journal.close()
    report, = Journal(folder).reports
    assert (report.proven, report.unprovable, report.healed) == (COUNT, 0, 0)


@pytest.mark.parametrize('damage', ['schema', 'empty', 'header', 'rubbish', 'text'])
def test_the_journal_opens_whatever_is_damaged(folder, file, damage):
    data = bytearray(file.read_bytes())
    if damage == 'schema':
        data[100:4096] = os.urandom(3996)
    elif damage == 'text':  # Bytes that are not UTF-8 among the names of tables.
        place = data.index(b'CREATE TABLE messages')
        data[place:place + 21] = b'\xff' * 21
    elif damage == 'header':
        data[:100] = bytes(100)
    file.write_bytes(b'' if damage == 'empty' else b'x' * 9000 if damage == 'rubbish' else data)
    journal = Journal(folder)
    expected = [] if damage in ('empty', 'rubbish') else list(range(1, COUNT + 1))
    assert stamps(journal) == expected
    assert 'was damaged' in journal.repairs[0]
    # The metadata tells how many there were.
    assert lost(journal) == ([] if expected else list(range(1, COUNT + 1)))
    assert journal.append([make_annotation(COUNT + 1)]) == [COUNT + 1]


def test_what_was_kept_aside_is_not_overwritten(folder, file):
    for number in (30, 50):
        place = file.read_bytes().index(np.full(WIDTH, number, np.float32).tobytes())
        flip(file, place, 0)
        Journal(folder).close()
    assert (folder / 'journal_0.db3.damaged').read_bytes() != (
        folder / 'journal_0.db3.damaged.2').read_bytes()


def stop_in_transaction(folder: Path) -> bytes:
    """Return the rollback file of a transaction that is under way."""
    file = folder / 'journal_0.db3'
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(1000, 1050)])
        return file.with_name('journal_0.db3-journal').read_bytes()


def test_a_stale_rollback_file_is_not_applied(folder, file):
    stale = stop_in_transaction(folder)
    write(folder, COUNT + 1, COUNT + 100)
    file.with_name('journal_0.db3-journal').write_bytes(stale)
    journal = Journal(folder)
    assert stamps(journal) == list(range(1, COUNT + 101))
    assert 'journal_0.db3-journal.unused' in journal.repairs[0]


def test_a_rollback_file_that_belongs_to_the_file_is_applied(folder, file, tmp_path):
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(1000, 1050)])
        killed = shutil.copytree(folder, tmp_path / 'killed/journal')
    journal = Journal(killed)
    assert stamps(journal) == list(range(1, COUNT + 1))
    assert journal.repairs == []


def test_a_stale_write_ahead_log_is_not_applied(folder, file, tmp_path):
    shutil.copy(file, tmp_path / 'other.db3')
    with closing(sqlite3.connect(tmp_path / 'other.db3', isolation_level=None)) as database:
        database.execute('PRAGMA journal_mode = WAL')
        database.execute('DELETE FROM messages WHERE id > 10')
        shutil.copy(tmp_path / 'other.db3-wal', folder / 'journal_0.db3-wal')
    journal = Journal(folder)
    assert stamps(journal) == list(range(1, COUNT + 1))
    assert 'journal_0.db3-wal.unused' in journal.repairs[0]


def test_missing_replaced_and_repeated_entries_are_noticed(folder, file, tmp_path):
    with closing(sqlite3.connect(file)) as database, database:
        database.execute('DELETE FROM messages WHERE id IN (20, 21)')
    journal = Journal(folder)
    assert lost(journal) == [20, 21]
    journal.close()
    write(tmp_path / 'other/journal', 1, COUNT)  # The same content at other times.
    with closing(sqlite3.connect(file)) as database, database:
        database.execute('ATTACH ? AS other', (str(tmp_path / 'other/journal/journal_0.db3'),))
        for table in ('messages', 'proemlc_entries'):
            database.execute(f'DELETE FROM {table} WHERE id = 60')
            database.execute(f'INSERT INTO {table} SELECT * FROM other.{table} WHERE id = 60')
    report, = Journal(folder).reports
    assert report.unlinked[0] == 60
    shutil.copy(file, folder / 'journal_1.db3')
    journal = Journal(folder)
    assert stamps(journal) == [n for n in range(1, COUNT + 1) if n not in (20, 21)]
    assert 'journal_1.db3 was damaged' in journal.repairs[-1]


def test_a_missing_file_leaves_a_gap_that_is_noticed(tmp_path):
    write(tmp_path / 'journal', 1, 400, max_file_bytes=60_000)
    files = sorted((tmp_path / 'journal').glob('*.db3'), key=lambda path: path.stat().st_mtime)
    assert len(files) > 3
    files[1].unlink()
    journal = Journal(tmp_path / 'journal')
    gap, = journal.missing()
    assert len(gap) > 20 and journal.missing(after=gap[-1]) == []
    assert [report.unlinked for report in journal.reports if report.unlinked] == []


def test_other_readers_do_not_see_the_records(folder, file):
    from rosbags.rosbag2 import Reader
    with Reader(folder) as reader:
        assert reader.message_count == len(list(reader.messages())) == COUNT
    with closing(sqlite3.connect(file)) as database:
        assert database.execute('SELECT count(*) FROM messages').fetchone() == (COUNT,)


def test_entries_of_an_earlier_version_are_taken_and_counted(tmp_path):
    folder = shutil.copytree(EARLIER, tmp_path / 'journal')
    journal = Journal(folder)
    assert (journal.reports[0].unprovable, journal.reports[0].proven) == (42, 0)
    journal.append([make_annotation(43)])
    journal.close()
    journal = Journal(folder)
    assert journal.repairs == []
    assert [entry.number for entry in journal.entries()] == list(range(1, 44))
    assert [(file.unprovable, file.proven) for file in journal.reports] == [(42, 0), (0, 1)]


def test_a_reference_is_kept_with_its_entry_and_known_when_lost(folder, file):
    journal = Journal(folder)
    journal.append([make_annotation(121), make_annotation(122)], ['', 'entry:7'])
    journal.append([make_annotation(123)])
    journal.close()
    journal = Journal(folder)
    assert [entry.reference for entry in journal.entries(120)] == ['', 'entry:7', '']
    journal.close()
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE proemlc_entries SET reference = replace(reference, '7', '6')")
    journal = Journal(folder)
    assert [entry.reference for entry in journal.entries(120)] == ['', 'lost', '']
    assert 'what entries 122 refer to is lost' in journal.repairs[0]
    journal.close()
    with closing(sqlite3.connect(file)) as database, database:
        database.execute('DELETE FROM proemlc_entries WHERE id IN (121, 122)')
    journal = Journal(folder)
    assert lost(journal) == []
    assert [entry.reference for entry in journal.entries(121)] == ['lost', '']


@pytest.mark.parametrize(('column', 'value'), [
    ('id', 2**62), ('id', 2**63 - 1), ('id', -5), ('timestamp', 2**63 - 1), ('timestamp', -7),
    ('timestamp', 'abc'), ('timestamp', 1.5)])
@pytest.mark.parametrize('proven', [True, False])
def test_a_damaged_number_or_time_is_named_and_the_rest_goes_on(
        file, folder, column, value, proven):
    with closing(sqlite3.connect(file)) as database, database:
        if not proven:
            database.execute('DROP TABLE proemlc_entries')
        database.execute(f'UPDATE messages SET {column} = ? WHERE id = ?', (value, COUNT))
    journal = Journal(folder)
    assert stamps(journal) == list(range(1, COUNT))
    assert journal.repairs
    number = COUNT + 1  # The record, or the metadata, tells that there was one more.
    assert journal.append([make_annotation(number)]) == [number]
    journal.close()
    assert stamps(Journal(folder)) == [*range(1, COUNT), number]
