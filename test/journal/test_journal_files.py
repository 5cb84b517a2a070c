# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A journal is known by its content, is read beside its writer, and knows how it must end."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import yaml

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.errors import JournalError
from proemlc_ros.journal.check import check_directory
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind, Picture

COUNT = 120
EARLIER = Path(__file__).parent / 'data/earlier_model_directory/model_directory/journal'


def make_annotation(number: int) -> Annotation:
    return Annotation(number, (f'label {number % 7}',), features=np.full(40, number, np.float32))


def write(folder: Path, start: int = 1, stop: int = COUNT) -> None:
    journal = Journal(folder, max_file_bytes=50_000)
    for number in range(start, stop + 1):
        assert journal.append([make_annotation(number)]) == [number]
    journal.close()


@pytest.fixture(scope='module')
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp('template') / 'model/journal'
    write(folder)
    assert len(files_of(folder)) >= 3
    return folder


@pytest.fixture
def folder(template, tmp_path):
    return shutil.copytree(template, tmp_path / 'model/journal')


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob('*.db3'), key=lambda path: int(path.stem.rpartition('_')[2]))


def numbers_of(journal: Journal) -> list[int]:
    return [entry.number for entry in journal.entries() if entry.record.stamp == entry.number]


def lost(journal: Journal) -> list[int]:
    return [number for gap in journal.missing() for number in gap]


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


# ----- known by content -----

def test_a_path_names_the_journal_that_it_belongs_to(folder, tmp_path):
    assert Journal.find(folder) == folder
    assert Journal.find(folder.parent) == folder
    assert Journal.find(files_of(folder)[2]) == folder
    moved = folder.rename(folder.parent / 'robot1')
    assert Journal.find(folder.parent) == Journal.find(moved) == moved
    shutil.copytree(moved, folder.parent / 'robot2')
    assert Journal.find(folder.parent) is None
    assert Journal.find(tmp_path / 'nothing') is None
    earlier = shutil.copytree(EARLIER, tmp_path / 'first version')
    assert Journal.find(earlier) == earlier


def test_a_recording_of_the_same_topics_is_no_journal(tmp_path):
    recorded = shutil.copytree(EARLIER, tmp_path / 'journal')
    change(recorded / 'journal_0.db3', "UPDATE topics SET offered_qos_profiles = '- depth: 1'")
    assert Journal.find(recorded) is None
    assert Journal.find(tmp_path) is None


@pytest.mark.parametrize('read_only', [True, False])
def test_renamed_folders_and_files_read_the_same(folder, read_only):
    moved = folder.rename(folder.parent / 'robot1')
    # The entries tell the order, not the names.
    for place, path in enumerate(files_of(moved)):
        path.rename(moved / f'a_{7 - place}.db3')
    journal = Journal(moved, max_file_bytes=50_000, read_only=read_only)
    assert (numbers_of(journal), journal.repairs) == (list(range(1, COUNT + 1)), [])
    if not read_only:
        for number in range(COUNT + 1, COUNT + 100):
            journal.append([make_annotation(number)])
        journal.close()
        assert (moved / 'a_8.db3').exists()
        with BagReader(moved) as bag:
            assert bag.count == COUNT + 99


def test_a_new_journal_has_the_name_of_its_folder(tmp_path):
    write(tmp_path / 'robot', 1, 2)
    assert (tmp_path / 'robot/robot_0.db3').exists()


def test_files_of_others_are_left_alone(folder, tmp_path):
    with closing(sqlite3.connect(folder / 'journal_9.db3')) as database:
        database.executescript('CREATE TABLE topics(type TEXT, id INT); CREATE TABLE songs(x)')
    write(tmp_path / 'other/journal', 1, 140)
    shutil.copy(files_of(tmp_path / 'other/journal')[1], folder / 'foreign_1.db3')
    before = content_of(folder)
    for journal in (Journal(folder, read_only=True), Journal(folder)):
        assert numbers_of(journal) == list(range(1, COUNT + 1))
        assert 'foreign_1.db3 is of another journal; it is left alone' in journal.repairs
    after = content_of(folder)
    assert all(after[name] == before[name] for name in ('foreign_1.db3', 'journal_9.db3'))


# ----- reading -----

def test_a_reader_changes_nothing_and_writes_nothing(folder):
    before = content_of(folder)
    journal = Journal(folder, read_only=True)
    assert numbers_of(journal) == list(range(1, COUNT + 1))
    assert journal.last_number == COUNT and not journal.missing()
    assert journal.entry(50).record.stamp == 50 and journal.entry(COUNT + 1) is None
    for attempt in (lambda: journal.append([make_annotation(1)]), lambda: journal.compact(5),
                    lambda: journal.append_late_picture(1, Picture(1, 'png', b'')),
                    lambda: journal.checkpoint(5)):
        with pytest.raises(JournalError, match='read only'):
            attempt()
    journal.close()
    assert content_of(folder) == before
    with pytest.raises(JournalError, match='cannot read'):
        Journal(folder.parent / 'nothing', read_only=True)


def test_a_reader_sees_what_a_writer_has_written(tmp_path):
    writer = Journal(tmp_path / 'journal', max_file_bytes=50_000)
    picture = Picture(5, 'png', b'picture')
    for number in range(1, 300):
        writer.append([make_annotation(number)])
    writer.append([make_annotation(1), Event(EventKind.UNDO)], None, [picture, None])
    reader = Journal(tmp_path / 'journal', read_only=True)
    assert reader.pictures() == {301: 300} and reader.picture(300) == picture
    assert [entry.number for entry in reader.events()] == [302]
    assert reader.last_number == 302 and reader.repairs == []
    assert reader.head == writer.head == reader.chain(302) and reader.chain(400) is None
    assert reader.chain(7) == writer.chain(7) is not None
    writer.append([make_annotation(303)])
    assert len(list(reader.entries(after=250))) == 52


def test_a_reader_takes_a_transaction_back_in_a_copy(folder, tmp_path):
    newest = files_of(folder)[-1]
    with closing(sqlite3.connect(newest, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(1000, 1050)])
        killed = shutil.copytree(folder, tmp_path / 'killed/journal')
    os.chmod(killed, 0o555)
    before = content_of(killed)
    journal = Journal(killed, read_only=True)
    assert (numbers_of(journal), journal.repairs) == (list(range(1, COUNT + 1)), [])
    assert journal.chain(COUNT) == journal.head is not None
    assert content_of(killed) == before
    os.chmod(killed, 0o755)


def test_a_reader_salvages_in_memory(folder):
    path = files_of(folder)[1]
    data = bytearray(path.read_bytes())
    data[data.index(np.full(40, 60, np.float32).tobytes())] ^= 1
    path.write_bytes(data)
    before = content_of(folder)
    journal = Journal(folder, read_only=True)
    assert numbers_of(journal) == [number for number in range(1, COUNT + 1) if number != 60]
    assert lost(journal) == [60] and 'entries 60 are lost' in journal.repairs[0]
    assert content_of(folder) == before


# ----- the end -----

def test_the_metadata_keeps_last_number_and_head(folder):
    custom = yaml.safe_load((folder / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information']['custom_data']
    journal = Journal(folder, read_only=True)
    assert custom['proemlc_last'] == str(COUNT)
    assert custom['proemlc_head'] == journal.head.hex()
    assert all(isinstance(value, str) for value in custom.values())


@pytest.mark.parametrize('place', [1, -1])
def test_a_missing_file_is_named_and_its_numbers_are_not_used_again(folder, place):
    path = files_of(folder)[place]
    gone = [entry.number for entry in Journal(folder, read_only=True).entries()]
    path.unlink()
    report = check_directory(folder.parent)
    assert f'{path.name} is missing' in report.problems
    journal = Journal(folder)
    assert f'{path.name} is missing' in journal.repairs
    gone = [number for number in gone if number not in numbers_of(journal)]
    assert len(gone) > 10 and lost(journal) == gone
    assert journal.append([make_annotation(COUNT + 1)]) == [COUNT + 1]
    journal.close()
    again = Journal(folder)
    assert (again.repairs, lost(again)) == ([], gone)
    assert numbers_of(again)[-1] == COUNT + 1


def test_an_end_that_was_cut_off_is_noticed(folder):
    newest = files_of(folder)[-1]
    change(newest, 'DELETE FROM messages WHERE id > 110',
           'DELETE FROM proemlc_entries WHERE id > 110')
    words = 'the journal ended with entry 120, its files end with entry 110'
    assert any(words in problem for problem in check_directory(folder).problems)
    journal = Journal(folder)
    assert words in journal.repairs[0] and lost(journal) == list(range(111, COUNT + 1))
    assert journal.append([make_annotation(COUNT + 1)]) == [COUNT + 1]


def test_without_numbers_in_the_metadata_its_counts_are_expected(folder):
    path = folder / 'metadata.yaml'
    content = yaml.safe_load(path.read_text())
    content['rosbag2_bagfile_information']['custom_data'] = None
    path.write_text(yaml.safe_dump(content))
    newest = files_of(folder)[-1]
    newest.unlink()
    journal = Journal(folder)
    assert f'{newest.name} is missing' in journal.repairs
    assert journal.append([make_annotation(COUNT + 1)]) == [COUNT + 1]


@pytest.mark.parametrize('content', [
    b'', b'rubbish: [', b'\xff\xfe\x00', b'- 1\n- 2', b'rosbag2_bagfile_information: 5', None])
def test_metadata_is_made_again_and_said(folder, content):
    path = folder / 'metadata.yaml'
    whole = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    words = f'metadata.yaml is {"missing" if content is None else "damaged"}; it is made again'
    assert words in check_directory(folder).problems
    journal = Journal(folder)
    assert (journal.repairs, numbers_of(journal)) == ([words], list(range(1, COUNT + 1)))
    journal.close()
    assert path.read_bytes() == whole


def test_a_changed_number_in_the_metadata_is_noticed(folder):
    path = folder / 'metadata.yaml'
    path.write_text(path.read_text().replace("proemlc_last: '120'", "proemlc_last: '920'"))
    journal = Journal(folder)
    assert 'metadata.yaml is damaged' in journal.repairs[0] and not journal.missing()


def test_files_that_were_dropped_are_not_missing(folder):
    journal = Journal(folder, max_file_bytes=50_000)
    journal.compact(COUNT)
    journal.close()
    again = Journal(folder)
    assert (again.repairs, again.last_number, numbers_of(again)) == ([], COUNT, [])
    assert again.append([make_annotation(COUNT + 1)]) == [COUNT + 1]


# ----- proofs and definitions -----

@pytest.mark.parametrize('later', [False, True])
def test_entries_without_proof_behind_proven_ones_are_set_aside(folder, later):
    newest = files_of(folder)[-1]
    statements = ['DROP TABLE proemlc_entries'] if later else [
        'DELETE FROM proemlc_entries WHERE id > 117']
    first = Journal(folder, read_only=True).reports[-1].numbers[0].start if later else 118
    change(newest, *statements)
    assert any('has no proof' in problem for problem in check_directory(folder).problems)
    journal = Journal(folder)
    assert numbers_of(journal) == list(range(1, first))
    assert any(f'entries {first} to 120 have no proof though earlier ones do; they are set '
               f'aside in {newest.name}.damaged' in words for words in journal.repairs)
    assert lost(journal) == list(range(first, COUNT + 1))
    assert journal.append([make_annotation(COUNT + 1)]) == [COUNT + 1]


def test_the_next_file_proves_the_end_of_the_one_before(folder):
    second = files_of(folder)[1]
    last = Journal(folder, read_only=True).reports[1].last
    change(second, f'DELETE FROM proemlc_entries WHERE id > {last - 3}')
    journal = Journal(folder)
    assert numbers_of(journal) == list(range(1, COUNT + 1)) and not journal.missing()


def test_the_next_file_proves_a_first_one_without_proofs(folder):
    change(files_of(folder)[0], 'DROP TABLE proemlc_entries')
    journal = Journal(folder)
    assert numbers_of(journal) == list(range(1, COUNT + 1))
    assert journal.unprovable == 0 and 'journal_0.db3 was damaged' in journal.repairs[0]


DAMAGES = {
    'no definitions': ['DELETE FROM message_definitions'],
    'one definition': ['DELETE FROM message_definitions WHERE id = 2'],
    'rubbish definition': ["UPDATE message_definitions SET encoded_message_definition = 'x'"],
    'last field': ['UPDATE message_definitions SET encoded_message_definition = '
                   "replace(encoded_message_definition, 'uint64 entry' || char(10), '')"],
    'not UTF-8': ['UPDATE message_definitions SET encoded_message_definition = '
                  "CAST(x'ff00fe' AS TEXT)"],
    'bytes': ["UPDATE message_definitions SET encoded_message_definition = x'ff'"],
    'hash': ["UPDATE topics SET type_description_hash = 'RIHS01_x'"],
    'hash of bytes': ["UPDATE topics SET type_description_hash = x'ff'"],
    'null': ['DROP TABLE message_definitions',
             'CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, encoding '
             'TEXT, encoded_message_definition TEXT, type_description_hash TEXT)',
             'INSERT INTO message_definitions VALUES '
             "(1, 'proemlc_ros/msg/LabelAnnotation', NULL, NULL, NULL)"],
    'no table of definitions': ['DROP TABLE message_definitions'],
    'no index': ['DROP INDEX timestamp_idx'],
    'no topics': ['DROP TABLE topics'],
    'fewer topics': ['DELETE FROM topics WHERE id = 1'],
    'topic name': ["UPDATE topics SET name = '/q' || name WHERE id = 1"],
    'no schema': ['DROP TABLE schema'],
    'schema version': ['UPDATE schema SET schema_version = 5'],
    'no metadata table': ['DROP TABLE metadata'],
}


@pytest.mark.parametrize('damage', DAMAGES)
@pytest.mark.parametrize('place', [0, -1])
def test_damaged_definitions_and_tables_are_made_again(folder, damage, place):
    path = files_of(folder)[place]
    change(path, *DAMAGES[damage])
    assert any(path.name in problem for problem in check_directory(folder).problems)
    journal = Journal(folder)
    assert f'{path.name} was damaged' in journal.repairs[0]
    assert numbers_of(journal) == list(range(1, COUNT + 1)) and not journal.missing()
    assert sum(report.proven for report in journal.reports) == COUNT
    assert journal.append([make_annotation(COUNT + 1)]) == [COUNT + 1]
    journal.close()
    assert Journal(folder).repairs == []
    with BagReader(folder) as bag:
        assert len(list(bag.messages(bag.topics))) == COUNT + 1


def test_a_damaged_index_is_made_again(folder):
    path = files_of(folder)[0]
    with closing(sqlite3.connect(path)) as database:
        root, = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'timestamp_idx'").fetchone()
    data = bytearray(path.read_bytes())
    data[root * 4096 - 10] ^= 4  # In a key.
    path.write_bytes(data)
    journal = Journal(folder)
    assert f'{path.name} was damaged' in journal.repairs[0]
    assert numbers_of(journal) == list(range(1, COUNT + 1))


def test_snapshots_are_compared_with_the_journal(folder):
    from proemlc_ros.core import ProEMLC
    model = ProEMLC(hidden_size=4)
    head = Journal(folder, read_only=True).chain(50)
    for position, chain, words in ((50, head.hex(), ''), (50, None, ''),
                                   (50, '00' * 16, 'of another journal'),
                                   (500, None, 'the journal ends with entry 120')):
        extra = {'position': position} if chain is None else {'position': position,
                                                              'chain': chain}
        model.save(folder.parent / 'snapshot.npz', extra)
        problems = check_directory(folder.parent).problems
        assert (words in problems[0]) if words else problems == []
