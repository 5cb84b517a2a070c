# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Damage to a split journal, by chance: nothing raises, nothing changes or goes in silence.

    python test/trials/journal_damage.py --rounds 200

Does that many bit flips, and that many damages of other kinds. Each copy is checked, read, and
opened as a node does. The verdicts:

- held: every entry is as it was written;
- said: some are gone, and both the node and the check say so;
- lost: an entry is gone or changed without a word, reader and node disagree, or a second start
  finds something else;
- crashed: an error that is not one of ours, or the node cannot write.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
from damage import content_pages, flip_bit, old_rollback

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.journal.check import check_directory
from proemlc_ros.journal.entries import encode
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind, Picture

MAX_FILE_BYTES = 60_000
Content = dict[int, object]


def make_journal(folder: Path, seed: int) -> None:
    """Write 160 annotations, every fourth with a picture, and events."""
    dice = Random(seed)
    journal = Journal(folder, max_file_bytes=MAX_FILE_BYTES)
    for number in range(160):
        features = np.random.default_rng([seed, number]).normal(size=30).astype(np.float32)
        annotation = Annotation(number, (f'label {number % 5}',), features=features)
        picture = None if number % 4 else Picture(number, 'png', dice.randbytes(600))
        journal.append([annotation], None, [picture])
        if number % 10 == 9:
            journal.append([Event(EventKind.RENAME, number, 'label 1', 'label 1')], ['entry:3'])
    journal.close()


def content_of(journal: Journal) -> Content:
    content: Content = {entry.number: None if entry.record is None else encode(entry.record)
                        for entry in journal.entries()}
    content.update((entry, journal.picture(entry)) for entry in journal.pictures().values())
    return content


# ----- damages -----

def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob('journal/*.db3'), key=lambda path: int(path.stem.split('_')[1]))


def flip(dice: Random, folder: Path) -> None:
    flip_bit(dice, dice.choice(files_of(folder)))


def drop_newest(dice: Random, folder: Path) -> None:
    files_of(folder)[-1].unlink()


def drop_other(dice: Random, folder: Path) -> None:
    dice.choice(files_of(folder)[:-1]).unlink()


def cut(dice: Random, folder: Path) -> None:
    path = dice.choice(files_of(folder))
    os.truncate(path, dice.randrange(path.stat().st_size))


def zero_page(dice: Random, folder: Path) -> None:
    path = dice.choice(files_of(folder))
    data = bytearray(path.read_bytes())
    place = dice.randrange(content_pages(path)) * 4096
    data[place:place + 4096] = bytes(4096)
    path.write_bytes(data)


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


def damage_definitions(dice: Random, folder: Path) -> None:
    execute(dice.choice(files_of(folder)), dice.choice([
        'DELETE FROM message_definitions', 'DROP TABLE message_definitions',
        "UPDATE message_definitions SET encoded_message_definition = CAST(x'ff' AS TEXT)",
        "UPDATE topics SET type_description_hash = 'x'", 'DROP TABLE topics',
        'DELETE FROM topics WHERE id = 3', 'DROP INDEX timestamp_idx', 'DROP TABLE schema',
        'DROP TABLE metadata', 'DELETE FROM schema']))


def drop_proofs(dice: Random, folder: Path) -> None:
    execute(dice.choice(files_of(folder)), dice.choice([
        'DROP TABLE proemlc_entries', 'DELETE FROM proemlc_entries',
        f'DELETE FROM proemlc_entries WHERE id % 7 = {dice.randrange(7)}',
        f'DELETE FROM proemlc_entries WHERE id > {dice.randrange(220)}']))


def drop_rows(dice: Random, folder: Path) -> None:
    path = dice.choice(files_of(folder))
    place = dice.randrange(220)
    execute(path, f'DELETE FROM messages WHERE id > {place}',
            *dice.choice([[], [f'DELETE FROM proemlc_entries WHERE id > {place}']]))


def swap_files(dice: Random, folder: Path) -> None:
    first, second = dice.sample(files_of(folder), 2)
    first.rename(folder / 'aside')
    second.rename(first)
    (folder / 'aside').rename(second)


def add_foreign(dice: Random, folder: Path) -> None:
    other = dice.choice(files_of(folder.parent / 'other'))
    shutil.copy(other, folder / 'journal' / dice.choice(
        ['a.db3', 'journal_9.db3', 'foreign_0.db3', 'journal_1.db3']))


def repeat_file(dice: Random, folder: Path) -> None:
    shutil.copy(dice.choice(files_of(folder)), folder / 'journal/journal_8.db3')


def damage_metadata(dice: Random, folder: Path) -> None:
    path = folder / 'journal/metadata.yaml'
    data = bytearray(path.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(dice.choice([b'', b'[', dice.randbytes(300), data, data, data]))


def stale_rollback(dice: Random, folder: Path) -> None:
    old_rollback(dice, folder)


def hot_rollback(dice: Random, folder: Path) -> None:
    """Leave what a crash leaves: a transaction that was cut off."""
    path = files_of(folder)[-1]
    log = path.with_name(f'{path.name}-journal')
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(9000, 9020)])
        data, pages = log.read_bytes(), path.read_bytes()
    path.write_bytes(pages)
    log.write_bytes(data)


def empty_file(dice: Random, folder: Path) -> None:
    dice.choice(files_of(folder)).write_bytes(dice.choice([b'', dice.randbytes(9000)]))


OTHERS: list[Callable[[Random, Path], None]] = [
    drop_newest, drop_other, cut, zero_page, damage_definitions, drop_proofs, drop_rows,
    swap_files, add_foreign, repeat_file, damage_metadata, stale_rollback, hot_rollback,
    empty_file]


# ----- verdicts -----

def verdict_on(folder: Path, expected: Content) -> tuple[str, str]:
    """Check, read and open a journal; return the verdict and the reason."""
    try:
        problems = check_directory(folder)
        read = content_of(Journal(folder / 'journal', read_only=True))
        journal = Journal(folder / 'journal', max_file_bytes=MAX_FILE_BYTES)
        found = content_of(journal)
        missing = {number for gap in journal.missing() for number in gap}
        said = journal.repairs
        number, = journal.append([Event(EventKind.UNDO, 1)])
        journal.close()
        again = Journal(folder / 'journal', read_only=True)
        second = content_of(again)
    except ProEMLCError as error:
        return 'crashed', str(error)
    except Exception:
        return 'crashed', traceback.format_exc()
    if number in expected:
        return 'lost', f'number {number} was used again'
    del second[number]
    if not read == found == second or not all(
            'left alone' in text or 'have no proof' in text for text in again.repairs):
        return 'lost', f'reader, node and second start differ; {said}, {again.repairs}'
    if found == expected:
        return ('held', '') if problems.problems or not said else ('lost', 'no problem by check')
    strange = {number for number in found if found[number] != expected.get(number)}
    gone = {*expected} - {*found} - missing
    if (strange or gone) and not said:
        return 'lost', f'changed: {strange}, gone: {gone}'
    if not (problems.problems or problems.gaps):
        return 'lost', 'the check says nothing'
    return ('lost', f'changed: {strange}; {said}') if strange else ('said', '')


def run(rounds: int, scratch: Path, seed: int = 1) -> dict[str, Counter[str]]:
    """Do that many bit flips and other damages; return the verdicts by kind."""
    dice = Random(seed)
    make_journal(scratch / 'template/journal', 1)
    make_journal(scratch / 'other/journal', 2)
    expected = content_of(Journal(scratch / 'template/journal', read_only=True))
    kinds = [flip] * rounds + [OTHERS[place % len(OTHERS)] for place in range(rounds)]
    counts: dict[str, Counter[str]] = {}
    for number, hurt in enumerate(kinds):
        folder = shutil.copytree(scratch / 'template', scratch / 'copy')
        hurt(dice, folder)
        verdict, reason = verdict_on(folder, expected)
        counts.setdefault(hurt.__name__, Counter())[verdict] += 1
        if reason:
            print(f'{hurt.__name__}, round {number}, {verdict}: {reason}', flush=True)
        shutil.rmtree(folder)
    return counts


def main() -> int:
    """Run the trials from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=200, help='bit flips, and other damages')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        counts = run(args.rounds, Path(scratch), args.seed)
    print(f'{"damage":20} {"rounds":>7} {"held":>6} {"said":>6} {"lost":>6} {"crashed":>8}')
    for kind, found in counts.items():
        print(f'{kind:20} {found.total():7} {found["held"]:6} {found["said"]:6} '
              f'{found["lost"]:6} {found["crashed"]:8}')
    return int(any(found['lost'] or found['crashed'] for found in counts.values()))


if __name__ == '__main__':
    raise SystemExit(main())
