# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile bags: cut, flipped and zeroed files, wrong values, wrong metadata.

    python test/trials/hostile_bags.py --rounds 1000

Every way to read a bag must work or raise a BagError (commands: end with an error in words), in
limited time and memory. Everything else is printed and counted; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.main import main as command
from proemlc_ros.errors import ProEMLCError

SECONDS = 30
MEGABYTES = 3000
VALUES = (None, -1, 0, 1, 2**63 - 1, -2**63, 1.5, '', 'x', 'std_msgs/msg/String', b'', b'\xff\xfe',
          '\x1b[2J', 'x' * 3000, b'\0\1\0\0' + bytes(40), 'ros2idl', '- history: 3', '[', '/a/b')
YAML_VALUES = ('', '-1', '0', '10', '[]', '{}', 'x', '"\\ud800"', '99999999999999999999999',
               '.nan', '[[[[', '&a [*a]', '1.5', 'null', '!!python/object:os.system {}', '../../x',
               'zstd', 'file', 'message', '"\\e[2J"', "'")
DEFINITIONS = ('', 'x', 'int32[] ' * 50, 'proemlc_ros/LabelAnnotation x', 'uint8 labels',
               '\n' * 5000, 'int32[99999999] x', '=' * 80 + '\nMSG: a/B\nint32 x', '\x00', '# x',
               'string[] labels\nuint8 kind\nfloat64 features')


def seeds(folder: Path) -> list[Path]:
    """Make sound bags of all kinds in a folder."""
    random = np.random.default_rng(0)
    labels = [('cup',), ('cup', 'red'), ('robot',)]
    samples = [(random.random(6, dtype=np.float32), labels[place % 3]) for place in range(40)]
    bags = []
    for storage in ('mcap', 'sqlite3'):
        bags.append(folder / storage)
        make_bag(bags[-1], samples, storage)
    for name, mode in (('mcap', CompressionMode.STORAGE), ('sqlite3', CompressionMode.FILE),
                       ('sqlite3', CompressionMode.MESSAGE)):
        bags.append(folder / f'{name}_{mode.name.lower()}')
        _compress(folder / name, bags[-1], name, mode)
    return bags


def _compress(source: Path, target: Path, storage: str, mode: CompressionMode) -> None:
    plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
    writer = Writer(target, version=9, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with Reader(source) as reader, writer:
        written = {one.id: writer.add_connection(one.topic, one.msgtype, msgdef=one.msgdef.data,
                                                 rihs01=one.digest) for one in reader.connections}
        for connection, time, data in reader.messages():
            writer.write(written[connection.id], time, data)


def damage(seed: int, bag: Path) -> str:
    """Damage a bag in place and return how."""
    random = np.random.default_rng(seed)
    files = [file for file in sorted(bag.iterdir()) if file.name != 'metadata.yaml']
    file = files[random.integers(len(files))]
    done = []
    for _ in range(random.integers(1, 3)):
        kind = random.integers(9)
        if kind < 5:
            done.append(_damage_bytes(random, file, kind))
        elif kind < 7 and file.suffix == '.db3':
            done.append(_damage_values(random, file))
        else:
            done.append(_damage_metadata(random, bag / 'metadata.yaml'))
    return f'{bag.name}: ' + ' + '.join(done)


def _damage_bytes(random: np.random.Generator, file: Path, kind: int) -> str:
    data = bytearray(file.read_bytes())
    if not data:
        return 'empty'
    place = int(random.integers(len(data)))
    if kind == 0:
        data = data[:place]
    elif kind == 1:
        for _ in range(random.integers(1, 20)):
            data[random.integers(len(data))] ^= 1 << random.integers(8)
    elif kind == 2:
        length = int(2 ** random.integers(0, 14))
        data[place:place + length] = bytes(len(data[place:place + length]))
    elif kind == 3:
        length = len(data[place:place + 200])
        data[place:place + length] = random.bytes(length)
    else:
        # Where headers, lengths and indices are.
        place = int(random.integers(min(400, len(data))))
        place = place if random.random() < 0.5 else len(data) - 1 - place
        data[place] = (0, 0xff, 0x7f, 0x80, int(random.integers(256)))[random.integers(5)]
    file.write_bytes(data)
    return f'bytes {kind} at {place}'


def _damage_values(random: np.random.Generator, file: Path) -> str:
    """Put values of any type into a column of the database."""
    columns = {'topics': ('id', 'name', 'type', 'serialization_format', 'offered_qos_profiles',
                          'type_description_hash'),
               'messages': ('topic_id', 'timestamp', 'data'),
               'message_definitions': ('topic_type', 'encoding', 'encoded_message_definition'),
               'schema': ('schema_version',)}
    table = list(columns)[random.integers(len(columns))]
    column = columns[table][random.integers(len(columns[table]))]
    values = DEFINITIONS if column == 'encoded_message_definition' else VALUES
    value = values[random.integers(len(values))]
    try:
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute('PRAGMA writable_schema=ON')
            database.execute(f'UPDATE {table} SET {column} = ? WHERE rowid % ? = 0',
                             (value, int(random.integers(1, 4))))
            database.commit()
    except sqlite3.Error as error:
        return f'{table}.{column}: {error}'
    return f'{table}.{column} = {str(value)[:20]!r}'


def _damage_metadata(random: np.random.Generator, file: Path) -> str:
    if not file.exists():
        return 'no metadata'
    lines = file.read_text().split('\n')
    place = int(random.integers(len(lines)))
    deed = random.integers(6)
    if deed == 0:
        file.unlink()
        return 'metadata deleted'
    if deed == 1:
        lines = lines[:place]
    elif deed == 2:
        del lines[place]
    else:
        key, colon, _ = lines[place].partition(':')
        lines[place] = f'{key}{colon} {YAML_VALUES[random.integers(len(YAML_VALUES))]}'
    file.write_text('\n'.join(lines), errors='replace')
    return f'metadata {deed} line {place}'


def read(bag: Path) -> None:
    """Read a bag in every way; an error that is not ours goes through."""
    files = [file for file in bag.iterdir() if file.suffix in ('.db3', '.mcap')]
    for path in (bag, *files):
        for best_effort in (False, True):
            try:
                with BagReader(path, best_effort) as reader:
                    str((reader.start, reader.end, reader.count, reader.topics))
                    for _ in reader.messages([one for one in reader.topics if one.readable]):
                        pass
                    for _ in find_sources(reader).stream(reader):
                        pass
            except ProEMLCError:
                pass
    model = str(bag.with_suffix('.npz'))
    small = ('--hidden-size', '8', '--activation', 'relu', '--scaling', 'none', '--best-effort')
    for words in (['info', str(bag)], ['bag', 'info', str(bag)], ['info', '--strict', str(bag)],
                  ['evaluate', str(bag), *small], ['train', str(bag), '-o', model, *small]):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            command(words)
        if '\x1b[2' in out.getvalue():
            raise AssertionError('prints control characters')


def verdict(bag: Path) -> str:
    """Return 'held', or what went wrong."""
    def too_long(*_: object) -> None:
        raise TimeoutError(f'longer than {SECONDS} s')

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    try:
        read(bag)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f'{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})'
    finally:
        signal.alarm(0)
    return 'held'


def run(rounds: int, first_seed: int = 0) -> tuple[Counter[str], list[str]]:
    """Try that many bags and return the counts of answers, and what went wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        bags = seeds(Path(folder))
        for seed in range(first_seed, first_seed + rounds):
            copy = Path(folder) / 'copy' / bags[seed % len(bags)].name
            shutil.copytree(bags[seed % len(bags)], copy)
            done = damage(seed, copy)
            answer = verdict(copy)
            if answer != 'held':
                wrong.append(f'seed {seed} ({done}): {answer}')
            counts['held' if answer == 'held' else 'wrong'] += 1
            shutil.rmtree(copy.parent)
    return counts, wrong


def main() -> int:
    """Run the trial and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--rounds', type=int, default=1000, metavar='N')
    parser.add_argument('--seed', type=int, default=0, metavar='N', help='of the first bag')
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
    counts, wrong = run(args.rounds, args.seed)
    print('\n'.join(wrong[:40]))
    print(f'{args.rounds} damaged bags: {counts["held"]} held, {counts["wrong"]} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
