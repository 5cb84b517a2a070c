# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of work, of a forked process or a classifier node; damage behind it."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from ros_process import DEADLINE, RosProcess

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.journal import Journal

MESSAGES = RosbagsMessages()
Say = Callable[[Any], None]


def open_durable(folder: Path, new_learner: Callable[[], ProEMLC],
                 max_file_bytes: int = 200_000) -> DurableModel:
    """Open a model directory as a node does that starts, with small journal files."""
    directory = ModelDirectory(folder)
    journal = Journal(directory.journal, max_file_bytes=max_file_bytes)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    resume(durable)
    return durable


def said_before_kill(work: Callable[[Say], None], patience: float, least: int = 1,
                     wanted: str = '') -> list[Any]:
    """Let a forked process work, kill it, and return what it said.

    Args:
        work: goes on for ever; it is given a function that says a value, which becomes JSON.
        patience: seconds from the last of the first words to the kill.
        least: words that it must have said before, however slow the machine is.
        wanted: one of these words.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work(lambda value: _write_line(writer, value))
        finally:
            os._exit(1)
    os.close(writer)
    said = b''
    deadline = time.monotonic() + DEADLINE
    while ((said.count(b'\n') < least or wanted.encode() not in said)
           and time.monotonic() < deadline):
        if select.select([reader], [], [], 1.0)[0]:
            news = os.read(reader, 1 << 16)
            if not news:
                break  # It has ended by itself.
            said += news
    time.sleep(patience)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), 'the process ended by itself'
    with os.fdopen(reader, 'rb') as stream:
        lines = (said + stream.read()).split(b'\n')[:-1]  # The last one may be cut.
    return [json.loads(line) for line in lines]


def _write_line(pipe: int, value: Any) -> None:
    os.write(pipe, (json.dumps(value) + '\n').encode())


class NodeLives:
    """A classifier node that is killed and started again.

    Args:
        folder: the model directory; the logs are beside it.
        parameters: of the node.
    """

    def __init__(self, folder: Path, **parameters: object) -> None:
        self.folder = folder
        self.process: RosProcess | None = None
        self._parameters = {'model_directory': folder, 'renewal': 'off', **parameters}

    def start(self) -> None:
        """Start the node, and wait until it has resumed what the folder holds."""
        self.process = RosProcess(
            ['classifier_node', '--ros-args', *(
                word for name, value in self._parameters.items()
                for word in ('-p', f'{name}:={value}'))], self.folder.parent)
        self.process.wait_for('Model directory', DEADLINE)

    def kill(self) -> None:
        """End the node in the middle of what it does."""
        self._running().process.send_signal(signal.SIGKILL)
        self._running().process.wait()

    def stop(self) -> None:
        """End the node as a person would; it must end in order."""
        code = self._running().stop(signal.SIGINT, DEADLINE)
        assert code == 0, f'exit code {code}: {self.output}'

    @property
    def output(self) -> str:
        """What the node of this life has printed."""
        return self._running().output

    def _running(self) -> RosProcess:
        assert self.process is not None, 'start it first'
        return self.process


# ----- damage that must cost nothing -----


def newest_file(folder: Path) -> Path:
    return max((folder / 'journal').glob('*.db3'), key=lambda file: file.stat().st_mtime)


def cut_journal(folder: Path, dice: random.Random) -> None:
    """Take the last bytes of the journal, as cheap flash does on power failure."""
    path = newest_file(folder)
    os.truncate(path, path.stat().st_size - dice.randint(1, 8000))


def hurt_snapshot(folder: Path, dice: random.Random) -> None:
    """Cut the newest snapshot or flip a bit in it; the older one and the journal are left."""
    path = folder / 'snapshot.npz'
    if not path.exists():
        return
    data = bytearray(path.read_bytes())
    if dice.random() < 0.5:
        del data[dice.randrange(len(data)):]
    else:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def hurt_records(folder: Path, dice: random.Random) -> None:
    """Flip bits in the records of some entries, which the chain proves all the same."""
    path = newest_file(folder)
    with closing(sqlite3.connect(path)) as database, database:
        numbers = [number for number, in database.execute('SELECT id FROM proemlc_entries')][:-1]
        for number in dice.sample(numbers, min(len(numbers), 2)):
            database.execute('UPDATE proemlc_entries SET digest = zeroblob(16) WHERE id = ?',
                             (number,))


def add_stale_logs(folder: Path, dice: random.Random) -> None:
    """Leave logs that belong to an older state of the journal, and half a temporary file."""
    path = newest_file(folder)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute('PRAGMA cache_size = 1')
        database.execute('BEGIN IMMEDIATE')
        database.executemany('INSERT INTO messages VALUES (?, 1, 1, zeroblob(9000))',
                             [(number,) for number in range(10**6, 10**6 + 20)])
        log = path.with_name(f'{path.name}-journal').read_bytes()
    with closing(sqlite3.connect(path)) as database:
        for version in (1, 2):
            database.execute(f'PRAGMA user_version = {version}')
            database.commit()
    path.with_name(f'{path.name}-journal').write_bytes(log)
    (folder / '.snapshot.npz.1.tmp').write_bytes(bytes(dice.randrange(5000)))


def leave_alone(folder: Path, dice: random.Random) -> None:
    """Do nothing."""


DAMAGES = (cut_journal, hurt_snapshot, leave_alone, hurt_records, add_stale_logs)
