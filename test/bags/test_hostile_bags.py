# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags made to do harm: bombs, endless definitions, values of any type, damage of any kind."""

import os
import sqlite3
import struct

import numpy as np
import pytest
from child_process import run_limited
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from trials import hostile_bags

from proemlc_ros.bags import storage_files
from proemlc_ros.bags.message_types import _DefinitionReader
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.recovery import _recover_mcap
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.bags.writer import make_bag
from proemlc_ros.errors import BagError

zstd = storage_files.zstd
MEGABYTE = 1 << 20
MAGIC = b'\x89MCAP0\r\n'
READ = """
import sys
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.errors import BagError
try:
    with BagReader(sys.argv[1], best_effort=len(sys.argv) > 2) as bag:
        for _ in bag.messages(bag.topics):
            pass
        print('read', bag.notes)
except BagError as error:
    print('rejected:', error)
"""


def text(value):
    """Return a text of an MCAP file."""
    return struct.pack('<I', len(value)) + value.encode()


def record(kind, content):
    """Return a record of an MCAP file."""
    return bytes([kind]) + struct.pack('<Q', len(content)) + content


def chunk(packed, stated, compression='zstd'):
    """Return a chunk of an MCAP file."""
    return record(6, struct.pack('<QQQI', 1, 2, stated, 0) + text(compression)
                  + struct.pack('<Q', len(packed)) + packed)


def mcap(*records):
    """Return an MCAP file without an index."""
    return (MAGIC + record(1, text('ros2') + text('')) + b''.join(records)
            + record(15, bytes(4)) + record(2, bytes(20)) + MAGIC)


def indexed(size, count):
    """Return an MCAP file of chunks of the same time, each of that unpacked size."""
    # One record of no meaning fills a chunk.
    packed = zstd.compress(record(0x80, bytes(size - 9)))
    start = MAGIC + record(1, text('ros2') + text(''))
    chunks = [chunk(packed, size)] * count
    message_index = record(7, struct.pack('<HI', 1, 16) + struct.pack('<QQ', 1, 0))
    data = start + b''.join(one + message_index for one in chunks) + record(15, bytes(4))
    summary, place = b'', len(start)
    summary += record(3, struct.pack('<H', 1) + text('std_msgs/msg/String') + text('ros2msg')
                      + text('string data'))
    summary += record(4, struct.pack('<HH', 1, 1) + text('/a') + text('cdr') + bytes(4))
    for one in chunks:
        summary += record(8, struct.pack('<QQQQ', 1, 2, place, len(one))
                          + struct.pack('<I', 10) + struct.pack('<HQ', 1, place + len(one))
                          + struct.pack('<Q', len(message_index)) + text('zstd')
                          + struct.pack('<QQ', len(packed), size))
        place += len(one) + len(message_index)
    return data + summary + record(2, struct.pack('<QQI', len(data), 0, 0)) + MAGIC


def zeros(size):
    """Return packed zeros: a zstd frame of blocks that say "one byte, 128 kB times"."""
    block, last = ((131_072 << 3 | 1 << 1 | end).to_bytes(3, 'little') + b'\0' for end in (0, 1))
    return b'\x28\xb5\x2f\xfd\x00\x58' + block * (8 * size // MEGABYTE - 1) + last


# What makes the file, and what the answer must say.
BOMBS = {
    'chunk': (lambda: mcap(chunk(zeros(3000 * MEGABYTE), 3000 * MEGABYTE)), 'more than the limit'),
    'chunk that states less': (lambda: mcap(chunk(zeros(3000 * MEGABYTE), 1000)),
                               'a chunk that states 1000 unpacked bytes may unpack to more'),
    'chunks of the same time': (lambda: indexed(60 * MEGABYTE, 30), 'chunks of the same time'),
    'huge length': (lambda: MAGIC + record(1, text('ros2') + text('')) + b'\x05' + b'\xff' * 200,
                    'no message in it is readable'),
}


@pytest.mark.parametrize('name', BOMBS)
def test_a_bomb_is_rejected_within_limits(name, tmp_path):
    path = tmp_path / 'bomb.mcap'
    make, answer = BOMBS[name]
    path.write_bytes(make())
    result = run_limited(READ, path, 'best effort', megabytes=2000, seconds=120)
    assert result.stdout.startswith('rejected: '), result.stderr[-500:]
    assert answer in result.stdout


def test_packed_messages_are_limited(monkeypatch):
    assert storage_files.unpack_message(zstd.compress(b'12345')) == b'12345'
    assert storage_files.unpack_message(b'\0\1\0\0cdr') == b'\0\1\0\0cdr'
    with pytest.raises(BagError, match='cut off'):
        storage_files.unpack_message(zstd.compress(b'12345')[:-3])
    monkeypatch.setattr(storage_files, '_ALWAYS', 5)
    monkeypatch.setattr(storage_files, '_RATIO', 0)
    with pytest.raises(BagError, match='more than the limit of 5 bytes'):
        storage_files.unpack_message(zstd.compress(b'123456'))


def test_a_packed_file_is_not_unpacked_beyond_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(storage_files, 'ALWAYS_IN_ALL', 10 * MEGABYTE)
    path = tmp_path / 'zeros.db3.zstd'
    path.write_bytes(zeros(100 * MEGABYTE))
    with pytest.raises(BagError, match='unpacks to more than the limit of 10485760'):
        BagReader(path)


def test_an_index_that_leads_elsewhere_is_rejected(tmp_path):
    """A chunk inside of an attachment is none of the file, whatever the index says."""
    hidden = chunk(zeros(MEGABYTE), MEGABYTE)
    data = MAGIC + record(1, text('ros2') + text('')) + record(9, hidden)
    offset = data.index(hidden)
    index = record(8, struct.pack('<QQQQ', 0, 1, offset, len(hidden)) + bytes(40))
    whole = data + index
    path = tmp_path / 'elsewhere.mcap'
    path.write_bytes(whole + record(2, struct.pack('<QQI', len(data), 0, 0)) + MAGIC)
    with pytest.raises(BagError, match='index leads elsewhere'):
        BagReader(path)


@pytest.mark.parametrize('mode', ['mcap_storage', 'sqlite3_file', 'sqlite3_message'])
def test_sound_compressed_bags_are_read_as_before(mode, tmp_path):
    hostile_bags.seeds(tmp_path)
    with BagReader(tmp_path / mode) as bag:
        assert len(list(bag.messages(bag.topics))) == 80


def msg(data):
    return MessageDefinition(MessageDefinitionFormat.MSG, data)


def idl(data):
    return MessageDefinition(MessageDefinitionFormat.IDL, data)


@pytest.mark.parametrize('definition, limit', [
    (msg('int32 x\n' * 1_250_000), 'more than the limit of 1000000'),
    (msg('int32 x\n' * 5001), '5001 lines, more than the limit of 5000'),
    (idl('module a { const long X = ((1)); };'), "an expression with '\\('"),
    (idl('module a { const long X = 9 << 99999999999; };'), "an expression with '<<'"),
    (idl('sequence<' * 20 + 'long' + '>' * 20), 'nests <> deeper than the limit of 4'),
    (idl('module a {' * 400 + '};' * 400), 'nests {} deeper'),
    (idl('typedef long x[3];' * 101), 'limit of 100 typedefs'),
])
def test_definitions_beyond_the_limits_are_not_parsed(definition, limit):
    with pytest.raises(ValueError, match=limit):
        _DefinitionReader().text_of(definition)


def test_blank_lines_and_comments_are_not_parsed():
    definition = msg('\n' * 200_000 + '# text\nint32 x  # more\n\n' + '=' * 80 + '\nMSG: a/B\n')
    assert _DefinitionReader().text_of(definition) == (
        'int32 x  # more\n' + '=' * 80 + '\nMSG: a/B')


def test_all_definitions_of_a_bag_together_are_limited():
    reader = _DefinitionReader()
    for _ in range(4):
        reader.text_of(msg('int32 x\n' * 5000))
    with pytest.raises(ValueError, match='more than the limit of 20000 lines'):
        reader.text_of(msg('int32 x'))


def test_annotated_idl_of_ros_is_parsed():
    text_of = _DefinitionReader().text_of(idl(
        '@verbatim (language="comment", text="a (b) << c")\nmodule a { module msg {\n'
        '/* ((( */ struct B { // <<<<<<\n @unit (value="m") double x; long y; '
        'sequence<string<10>> z; }; }; };'))
    assert 'struct B' in text_of


@pytest.fixture
def database(tmp_path):
    """Return the file of a sound bag."""
    samples = [(np.ones(3, np.float32), ('cup',))] * 4
    make_bag(tmp_path / 'bag', samples, 'sqlite3')
    return tmp_path / 'bag' / 'bag.db3'


@pytest.mark.parametrize('change', [
    "UPDATE topics SET name = x'ff'",
    "UPDATE message_definitions SET encoded_message_definition = x'05'",
    "UPDATE messages SET timestamp = 'noon'",
    "UPDATE messages SET data = 'text'",
    "UPDATE message_definitions SET encoded_message_definition = 'uint8 labels'",
])
def test_values_of_other_types_are_errors_in_words(change, database):
    connection = sqlite3.connect(database)
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(BagError), BagReader(database) as bag:
        list(find_sources(bag).stream(bag))
    try:
        with BagReader(database, best_effort=True) as bag:
            list(find_sources(bag).stream(bag))
    except BagError:
        pass


def test_a_definition_of_minutes_is_left_out_in_seconds(database):
    connection = sqlite3.connect(database)
    connection.execute('UPDATE message_definitions SET encoding = ?, '
                       'encoded_message_definition = ?',
                       ('ros2idl', 'module a { const long X = ((((1)))); };'))
    connection.commit()
    connection.close()
    result = run_limited(READ, database, megabytes=2000, seconds=120)
    assert 'an expression with' in result.stdout, result.stderr[-500:]


def test_metadata_has_a_limit(database):
    (database.parent / 'metadata.yaml').write_text('a: [' + '[],' * 2_000_000)
    with pytest.raises(BagError, match='more than the limit of 4000000'):
        BagReader(database.parent)


def test_what_is_not_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'pipe.mcap')
    for path in (tmp_path, tmp_path / 'pipe.mcap'):
        with pytest.raises(BagError, match='no bag in this folder|not a bag'):
            BagReader(path, best_effort=True)


def test_names_of_files_with_odd_digits_are_sorted(database):
    (database.parent / 'bag_².db3').write_bytes(database.read_bytes())
    with BagReader(database.parent) as bag:
        assert bag.count == 8


def test_a_record_of_huge_length_is_the_end(tmp_path):
    path = tmp_path / 'cut.mcap'
    path.write_bytes(MAGIC + record(1, text('ros2') + text('')) + b'\x05' + b'\xff' * 50)
    assert _recover_mcap(path, tmp_path / 'copy.mcap') == 0


def test_10_damaged_bags_are_read_or_rejected():
    _, wrong = hostile_bags.run(10)
    assert not wrong
