# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A disk that fails at each write, or is full after some bytes, under a model that learns."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from judge import Verdict, close, make_annotation, new_learner, open_model, same

from proemlc_ros.errors import ProEMLCError
from proemlc_ros.journal.sqlite_file import SqliteFile
from proemlc_ros.records import Learnt


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


def fail_once(folder: Path, disk: FailingDisk | SmallDisk) -> Verdict | None:
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
