# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 while samples are relabelled, deleted, undone, made again and taught in bursts.

    python test/trials/correction_kills.py --kills 100

After each kill the model directory is opened again. Every acknowledged step must be in the
journal as it was acknowledged, and the model must equal one that is taught the samples in force.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from proemlc_ros.bags.journal import Journal
from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.bags.stored_journal import StoredJournal
from proemlc_ros.classifier.corrections import Correction
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.records import Annotation, Event, Learnt, Picture
from proemlc_ros.classifier.requests import ClientRequest
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError

WIDTH = 6
INPUTS = np.random.default_rng(5).normal(size=(10, WIDTH))
NAMES = [f'label {number}' for number in range(5)]
MESSAGES = RosbagsMessages()


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=20, seed=2, warmup=15)


def open_model(folder: Path) -> DurableModel:
    directory = ModelDirectory(folder)
    journal = Journal(directory.journal, MESSAGES, max_file_bytes=200_000)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    resume(durable)
    return durable


class Teacher:
    """Teaches and corrects at random; `act` returns the kind and what the journal must have."""

    def __init__(self, durable: DurableModel, seed: int) -> None:
        self.durable = durable
        self.dice = random.Random(seed)
        self.count = seed * 10_000

    def act(self) -> tuple[str, list[tuple[int, str]]]:
        history = self.durable.corrections.history()
        samples = list(history.samples)
        actions = ['teach', 'burst']
        if len(samples) > 20:
            actions += ['relabel', 'delete', 'relabel', 'delete', 'undo']
        if history.next_redo():
            actions += ['redo', 'redo']
        action = self.dice.choice(actions)
        before = self.durable.journal.last_number
        if action in ('teach', 'burst'):
            return action, self._teach(1 if action == 'teach' else self.dice.randint(2, 6))
        corrections = self.durable.corrections
        if action in ('relabel', 'delete'):
            corrections.correct(Correction(self.dice.choice(samples), (self.dice.choice(NAMES),),
                                           delete=action == 'delete'), 'Ada')
        else:
            (corrections.undo if action == 'undo' else corrections.redo)()
        return action, [(entry.number, repr(entry.record))
                        for entry in self.durable.journal.entries(before)]

    def _teach(self, count: int) -> list[tuple[int, str]]:
        batch = []
        group = f'{self.dice.getrandbits(48):012x}'
        for place in range(count):
            self.count += 1
            annotation = Annotation(
                self.count, (self.dice.choice(NAMES),),
                features=np.random.default_rng(self.count).normal(size=WIDTH).astype(np.float32))
            request = ClientRequest.of(f'burst:{group}:{place}', annotation)
            batch.append(annotation._replace(request=request))
        self.durable.pictures.active = True
        self.durable.pictures.find = lambda annotation: Picture(
            annotation.stamp, 'jpeg', b'picture' * 300)
        learnt = self.durable.learn(batch)
        assert all(isinstance(one, Learnt) for one in learnt), learnt
        return [(one.number, f'annotation {one.annotation.stamp}') for one in learnt]


def victim(folder: Path, pipe: int, seed: int) -> None:
    """Teach and correct until killed; say what was acknowledged."""
    teacher = Teacher(open_model(folder), seed)
    while True:
        try:
            action, entries = teacher.act()
        except ProEMLCError:
            continue  # Such as a load that others build on.
        os.write(pipe, (json.dumps([action, entries]) + '\n').encode())
        if teacher.dice.random() < 0.05:
            teacher.durable.snapshot()


def run_victim(folder: Path, seed: int, patience: float) -> list[tuple[str, list]]:
    """Let a process teach, kill it, and return what it acknowledged."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            victim(folder, writer, seed)
        finally:
            os._exit(1)
    os.close(writer)
    select.select([reader], [], [], 60)  # Not before its first word.
    time.sleep(patience)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), 'the process ended by itself'
    with os.fdopen(reader, 'rb') as stream:
        lines = stream.read().split(b'\n')[:-1]  # The last one may be cut.
    return [json.loads(line) for line in lines]


def check(folder: Path, acknowledged: dict[int, str]) -> float:
    """Compare journal, model and acknowledgements; return the largest difference of scores."""
    durable = open_model(folder)
    try:
        found = {entry.number: entry.record for entry in durable.journal.entries()}
        for number, text in acknowledged.items():
            record = found.get(number)
            said = repr(record) if isinstance(record, Event) else f'annotation {record.stamp}'
            assert said == text, f'entry {number} is {said}, acknowledged was {text}'
        expected = new_learner()
        for _, _, sample in StoredJournal(durable.directory.journal).samples():
            expected.learn(sample.features, sample.labels)
        model = durable.model.learner
        assert model.samples == expected.samples, (model.samples, expected.samples)
        assert sorted(model.labels) == sorted(expected.labels)
        order = [model.labels.index(name) for name in expected.labels]
        return float(np.abs(model.scores(INPUTS)[:, order] - expected.scores(INPUTS)).max())
    finally:
        durable.directory.close()


def run(kills: int, folder: Path, seed: int = 1) -> tuple[Counter[str], float]:
    """Kill that often; return what was acknowledged by kind, and the largest difference."""
    dice = random.Random(seed)
    counts: Counter[str] = Counter()
    worst = 0.0
    acknowledged: dict[int, str] = {}
    for kill in range(kills):
        for action, entries in run_victim(folder, seed * 1000 + kill, 0.2 + dice.random() * 0.6):
            counts[action] += 1
            acknowledged.update((number, text) for number, text in entries)
        worst = max(worst, check(folder, acknowledged))
        assert worst <= 1e-9, f'scores differ by {worst} after kill {kill}'
    return counts, worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts, worst = run(arguments.kills, Path(folder, 'model'), arguments.seed)
    total = ', '.join(f'{count} {name}' for name, count in sorted(counts.items()))
    print(f'{arguments.kills} kills; acknowledged: {total}; none lost; scores differ by '
          f'{worst:.1e}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
