# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of damage to a model directory, by chance."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random


def content_pages(path: Path) -> int:
    with closing(sqlite3.connect(f'{path.as_uri()}?immutable=1', uri=True)) as database:
        return int(database.execute('PRAGMA page_count').fetchone()[0])


def some_file(dice: Random, folder: Path, pattern: str) -> Path:
    return dice.choice(sorted(folder.glob(pattern)))


def flip_bit(dice: Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    end = content_pages(path) * 4096 if path.suffix == '.db3' else len(data)
    data[dice.randrange(end)] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def flip_journal(dice: Random, folder: Path) -> None:
    flip_bit(dice, some_file(dice, folder, 'journal/*.db3'))


def flip_snapshot(dice: Random, folder: Path) -> None:
    flip_bit(dice, some_file(dice, folder, 'snapshot*.npz'))


def flip_model_file(dice: Random, folder: Path) -> None:
    flip_bit(dice, some_file(dice, folder, 'journal/attachments/*.npz'))


def flip_page(dice: Random, folder: Path) -> None:
    path = some_file(dice, folder, 'journal/*.db3')
    data = bytearray(path.read_bytes())
    page = dice.randrange(content_pages(path)) * 4096
    data[page:page + 4096] = dice.choice([bytes(4096), os.urandom(4096)])
    path.write_bytes(data)


def cut_journal(dice: Random, folder: Path) -> None:
    path = some_file(dice, folder, 'journal/*.db3')
    os.truncate(path, dice.randrange(path.stat().st_size + 1))


def cut_snapshot(dice: Random, folder: Path) -> None:
    path = some_file(dice, folder, 'snapshot*.npz')
    os.truncate(path, dice.randrange(path.stat().st_size))


def drop_rows(dice: Random, folder: Path) -> None:
    path = some_file(dice, folder, 'journal/*.db3')
    with closing(sqlite3.connect(path)) as database, database:
        table = dice.choice(['messages', 'proemlc_entries'])
        numbers = [row[0] for row in database.execute(f'SELECT id FROM {table}')]
        for number in dice.sample(numbers, min(len(numbers), 3)):
            database.execute(f'DELETE FROM {table} WHERE id = ?', (number,))


def old_rollback(dice: Random, folder: Path) -> None:
    path = sorted(folder.glob('journal/*.db3'), key=lambda file: int(file.stem.split('_')[1]))[-1]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.execute('DELETE FROM messages WHERE id > ?', (dice.randrange(400),))
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(9000, 9020)])
        log = path.with_name(f'{path.name}-journal').read_bytes()
    with closing(sqlite3.connect(path)) as database:  # Two more transactions make it stale.
        for version in (1, 2):
            database.execute(f'PRAGMA user_version = {version}')
            database.commit()
    path.with_name(f'{path.name}-journal').write_bytes(log)


KINDS: dict[str, tuple[Callable[[Random, Path], None], bool]] = {
    'bit in the journal': (flip_journal, True),
    'bit in the journal, no snapshot': (flip_journal, False),
    'bit in a snapshot': (flip_snapshot, True),
    'bit in a loaded model file': (flip_model_file, True),
    'bit in a loaded model file, no snapshot': (flip_model_file, False),
    'page of the journal, no snapshot': (flip_page, False),
    'journal cut, no snapshot': (cut_journal, False),
    'snapshot cut': (cut_snapshot, True),
    'rows deleted, no snapshot': (drop_rows, False),
    'stale rollback file, no snapshot': (old_rollback, False),
}
