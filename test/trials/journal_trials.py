# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Damage to a model directory, by chance and many times: what held, what was said, what was lost.

    python test/trials/journal_trials.py --rounds 1000

A round counts as
    held: the resumed model equals the one that was, to 1e-8;
    said: it differs, and the report names what is missing or was rejected;
    lost: it differs, and nothing says so; or it has learnt something twice, or is another model.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from proemlc_ros.bags.journal import Journal
from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.bags.sqlite_file import SqliteFile
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.records import Annotation, Learnt
from proemlc_ros.classifier.resume import ResumeReport, resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError

WIDTH = 40
INPUTS = np.random.default_rng(5).normal(size=(10, WIDTH))
MESSAGES = RosbagsMessages()
Result = tuple[str, str]


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=16, activation='relu', scaling='none', seed=2)


def make_annotation(number: int) -> Annotation:
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    return Annotation(number, (f'label {number % 4}', f'rare {number // 40}'), features=values,
                      complete=number % 5 > 0)


def open_model(folder: Path) -> tuple[DurableModel, ResumeReport]:
    directory = ModelDirectory(folder)
    try:
        journal = Journal(directory.journal, MESSAGES, max_file_bytes=100_000)
        durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
        return durable, resume(durable)
    except BaseException:
        directory.close()
        raise


def close(durable: DurableModel) -> None:
    durable.journal.close()
    durable.directory.close()


def make_template(folder: Path) -> None:
    """Write a model directory with everything in it: files, snapshots, undo, rename, load."""
    durable, _ = open_model(folder)

    def learn(start: int, stop: int) -> None:
        for first in range(start, stop, 10):
            durable.learn([make_annotation(number) for number in range(first, first + 10)])
    learn(0, 80)
    durable.undo()
    durable.save('kitchen')
    learn(80, 120)
    durable.snapshot()
    durable.load('kitchen')
    learn(200, 240)
    durable.rename('label 1', 'label one')
    durable.snapshot()
    learn(300, 360)
    durable.undo()
    durable.undo()
    durable.remove('rare 5')
    learn(400, 430)
    close(durable)


class Damage:
    """A model directory to be damaged, and the model that it should give."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.scratch = scratch
        self.template = scratch / 'template'
        make_template(self.template)
        self.models: dict[bool, ProEMLC] = {}
        for snapshots in (True, False):
            copy = self.copy(f'expected {snapshots}', snapshots)
            durable, report = open_model(copy)
            assert not report.rejections and not report.missing
            self.models[snapshots] = durable.model.learner
            self.entries = durable.journal.last_number
            close(durable)
            shutil.rmtree(copy)

    def copy(self, name: str, snapshots: bool = True) -> Path:
        folder = shutil.copytree(self.template, self.scratch / name)
        if not snapshots:
            for path in folder.glob('snapshot*.npz'):
                path.unlink()
        return folder

    def flip(self, path: Path, count: int = 1) -> None:
        data = bytearray(path.read_bytes())
        end = content_pages(path) * 4096 if path.suffix == '.db3' else len(data)
        for _ in range(count):
            data[self.dice.randrange(end)] ^= 1 << self.dice.randrange(8)
        path.write_bytes(data)

    def some_file(self, folder: Path, pattern: str) -> Path:
        return self.dice.choice(sorted(folder.glob(pattern)))

    def judge(self, folder: Path, snapshots: bool) -> Result:
        """Resume and compare; a second start must find the same."""
        try:
            durable, report = open_model(folder)
        except ProEMLCError as error:
            return 'said', f'did not start: {error}'
        found = durable.model.learner
        gone = sum(map(len, report.missing)) + len(report.rejections)
        said = bool(gone or report.notes or durable.journal.repairs)
        close(durable)
        again, _ = open_model(folder)
        close(again)
        if not same(again.model.learner, found):
            return 'lost', 'the second start gave another model'
        if same(found, self.models[snapshots]):
            return 'held', ''
        expected = self.models[snapshots]
        # A lost undo leaves a sample, a lost load the model before it.
        if found.samples > expected.samples and not gone:
            return 'lost', f'{found.samples} samples instead of {expected.samples}'
        return ('said', '') if said else ('lost', 'another model without a word')


def content_pages(path: Path) -> int:
    with closing(sqlite3.connect(f'{path.as_uri()}?immutable=1', uri=True)) as database:
        return int(database.execute('PRAGMA page_count').fetchone()[0])


def same(first: ProEMLC, second: ProEMLC) -> bool:
    return (first.labels == second.labels and first.samples == second.samples
            and bool(np.allclose(first.scores(INPUTS), second.scores(INPUTS), atol=1e-8)))


# ----- kinds of damage -----

def flip_journal(damage: Damage, folder: Path) -> None:
    damage.flip(damage.some_file(folder, 'journal/*.db3'))


def flip_snapshot(damage: Damage, folder: Path) -> None:
    damage.flip(damage.some_file(folder, 'snapshot*.npz'))


def flip_model_file(damage: Damage, folder: Path) -> None:
    damage.flip(damage.some_file(folder, 'journal/attachments/*.npz'))


def flip_page(damage: Damage, folder: Path) -> None:
    path = damage.some_file(folder, 'journal/*.db3')
    data = bytearray(path.read_bytes())
    page = damage.dice.randrange(content_pages(path)) * 4096
    data[page:page + 4096] = damage.dice.choice([bytes(4096), os.urandom(4096)])
    path.write_bytes(data)


def cut_journal(damage: Damage, folder: Path) -> None:
    path = damage.some_file(folder, 'journal/*.db3')
    os.truncate(path, damage.dice.randrange(path.stat().st_size + 1))


def cut_snapshot(damage: Damage, folder: Path) -> None:
    path = damage.some_file(folder, 'snapshot*.npz')
    os.truncate(path, damage.dice.randrange(path.stat().st_size))


def drop_rows(damage: Damage, folder: Path) -> None:
    path = damage.some_file(folder, 'journal/*.db3')
    with closing(sqlite3.connect(path)) as database, database:
        table = damage.dice.choice(['messages', 'proemlc_entries'])
        numbers = [row[0] for row in database.execute(f'SELECT id FROM {table}')]
        for number in damage.dice.sample(numbers, min(len(numbers), 3)):
            database.execute(f'DELETE FROM {table} WHERE id = ?', (number,))


def old_rollback(damage: Damage, folder: Path) -> None:
    path = sorted(folder.glob('journal/*.db3'), key=lambda file: int(file.stem.split('_')[1]))[-1]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.execute('DELETE FROM messages WHERE id > ?', (damage.dice.randrange(400),))
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(9000, 9020)])
        log = path.with_name(f'{path.name}-journal').read_bytes()
    with closing(sqlite3.connect(path)) as database:  # Two more transactions make it stale.
        for version in (1, 2):
            database.execute(f'PRAGMA user_version = {version}')
            database.commit()
    path.with_name(f'{path.name}-journal').write_bytes(log)


KINDS: dict[str, tuple[Callable[[Damage, Path], None], bool]] = {
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


def run_damage(rounds: int, scratch: Path, seed: int = 1) -> dict[str, Counter[str]]:
    """Do that many rounds of each kind.

    Returns:
        Counts of held, said and lost by kind.
    """
    damage = Damage(scratch, seed)
    counts: dict[str, Counter[str]] = {}
    for kind, (hurt, snapshots) in KINDS.items():
        counts[kind] = Counter()
        for number in range(rounds):
            folder = damage.copy(f'{number}', snapshots)
            hurt(damage, folder)
            verdict, reason = damage.judge(folder, snapshots)
            counts[kind][verdict] += 1
            if verdict == 'lost':
                print(f'{kind}, round {number}: {reason}')
            shutil.rmtree(folder)
    return counts


# ----- the disk fails at each write -----

class FailingDisk:
    """Makes the n-th write of any kind fail: before it, or behind it."""

    def __init__(self, place: int, late: bool) -> None:
        self.left = place
        self.late = late
        self._originals = {(os, 'replace'): os.replace, (os, 'fsync'): os.fsync,
                           (os, 'truncate'): os.truncate, (os, 'link'): os.link,
                           (SqliteFile, 'append'): SqliteFile.append}

    @property
    def unused(self) -> bool:
        return self.left > 0

    def __enter__(self) -> FailingDisk:
        for (owner, name), original in self._originals.items():
            setattr(owner, name, self._wrapped(original))
        return self

    def __exit__(self, *_: object) -> None:
        for (owner, name), original in self._originals.items():
            setattr(owner, name, original)

    def _wrapped(self, original: Callable) -> Callable:
        def call(*args, **options):
            self.left -= 1
            if self.left == 0 and not self.late:
                raise OSError(28, 'No space left on device')
            result = original(*args, **options)
            if self.left == 0:
                raise OSError(5, 'Input/output error')
            return result
        return call


class SmallDisk:
    """A disk with some bytes left, until the block ends."""

    unused = False

    def __init__(self, folder: Path, left: int) -> None:
        self._filler = folder / 'filler'
        self._left = left

    def __enter__(self) -> SmallDisk:
        with self._filler.open('wb', buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(4096))
            except OSError:
                pass
            os.truncate(self._filler, max(0, stream.tell() - self._left))
        return self

    def __exit__(self, *_: object) -> None:
        self._filler.unlink()


def fail_once(folder: Path, disk: FailingDisk | SmallDisk) -> Result | None:
    """Learn, load, undo and snapshot while the disk fails; None: it did not."""
    durable, _ = open_model(folder)
    done = [make_annotation(number).stamp for number in range(5)]
    durable.learn([make_annotation(number) for number in range(5)])
    durable.save('kitchen')
    durable.learn([make_annotation(5)])
    with disk:
        loaded = attempt(lambda: durable.load('kitchen'))
        done = done if loaded else [*done, 5]
        for number in range(10, 14):
            answer, = durable.learn([make_annotation(number)])
            done += [number] if isinstance(answer, Learnt) else []
        if attempt(durable.undo):
            done.pop()
        attempt(durable.snapshot)
        unused = disk.unused
    for number in (20, 21):
        answer, = durable.learn([make_annotation(number)])
        if not isinstance(answer, Learnt):
            return 'lost', f'learning does not go on: {answer}'
        done.append(number)
    running = durable.model.learner
    durable.directory.close()
    again, _ = open_model(folder)
    expected = new_learner()
    for number in done:
        annotation = make_annotation(number)
        expected.learn(annotation.features, annotation.labels, complete=annotation.complete)
    close(again)
    if not same(running, expected):
        return 'lost', f'the running model is not what was answered: {done}'
    if not same(again.model.learner, expected):
        return 'lost', f'the resumed model is not what was answered: {done}'
    return None if unused else ('held', '')


def attempt(action: Callable[[], object]) -> bool:
    try:
        action()
    except (ProEMLCError, OSError):
        return False
    return True


def run_failing_disk(scratch: Path) -> dict[str, Counter[str]]:
    """Let each write fail once, before and behind it."""
    counts: dict[str, Counter[str]] = {}
    for late in (False, True):
        kind = f'disk fails {"behind" if late else "at"} each write'
        counts[kind] = Counter()
        place = 0
        while True:
            place += 1
            result = fail_once(scratch / f'disk {late} {place}', FailingDisk(place, late))
            if result is None:
                break
            counts[kind][result[0]] += 1
            if result[0] == 'lost':
                print(f'{kind}, write {place}: {result[1]}')
    return counts


def run_small_disk(scratch: Path, most: int = 400_000,
                   step: int = 4096) -> dict[str, Counter[str]]:
    """Let a real disk be full after each 4 kB, where there is permission to mount one."""
    folder = scratch / 'small'
    folder.mkdir()
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder],
                      capture_output=True).returncode:
        return {}
    counts: Counter[str] = Counter()
    try:
        for left in range(0, most, step):
            verdict, reason = fail_once(folder / 'model', SmallDisk(folder, left)) or ('held', '')
            counts[verdict] += 1
            if verdict == 'lost':
                print(f'{left} bytes left: {reason}')
            shutil.rmtree(folder / 'model')
    finally:
        subprocess.run(['umount', '-l', folder], check=True)
    return {'disk full after each 4 kB': counts}


def show(counts: dict[str, Counter[str]]) -> int:
    """Print the counts and return how many were lost."""
    print(f'{"damage":42} {"rounds":>7} {"held":>6} {"said":>6} {"lost":>6}')
    for kind, found in counts.items():
        print(f'{kind:42} {found.total():7} {found["held"]:6} {found["said"]:6} '
              f'{found["lost"]:6}')
    return sum(found['lost'] for found in counts.values())


def main() -> int:
    """Run the trials from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=1000, help='of each kind of damage')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    folder = '/dev/shm' if Path('/dev/shm').is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        counts = run_failing_disk(Path(scratch))
        counts.update(run_small_disk(Path(scratch)))
        counts.update(run_damage(args.rounds, Path(scratch), args.seed))
    return 1 if show(counts) else 0


if __name__ == '__main__':
    raise SystemExit(main())
