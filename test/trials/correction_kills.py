# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 while samples are taught in bursts and corrected in every way, saved and loaded.

    python test/trials/correction_kills.py --kills 100 [--node]

After each kill the model directory is damaged in a way that must cost nothing, and opened again.
Every acknowledged step must be in the journal as it was acknowledged, no annotation may be there
twice, and the model must equal one that is taught the samples in force.
With --node the classifier node is killed, and taught by its services; set a ROS_DOMAIN_ID that
nobody else uses.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from corrections import correct, merge_labels, remove, rename, turn
from kill_harness import DAMAGES, NodeLives, Say, open_durable, said_before_kill

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import (
    Annotation,
    ClientRequest,
    Correction,
    Event,
    EventKind,
    Learnt,
    Picture,
)

WIDTH = 6
INPUTS = np.random.default_rng(5).normal(size=(10, WIDTH))
NAMES = [f'label {number}' for number in range(5)]
SETTINGS = {'hidden_size': 20, 'seed': 2, 'warmup': 15, 'activation': 'laplacian',
            'scaling': 'standard', 'ridge': 0.03}


def new_learner() -> ProEMLC:
    return ProEMLC(**SETTINGS)


class Teacher:
    """Teaches and corrects at random; `act` returns the kind and what the journal must have."""

    def __init__(self, durable: DurableModel, seed: int) -> None:
        self.durable = durable
        self.dice = random.Random(seed)
        self.count = seed * 10_000

    def act(self) -> tuple[str, list[tuple[int, str]]]:
        history = self.durable.reading()
        samples = list(history.samples)
        actions = ['teach', 'burst']
        if len(samples) > 20:
            actions += ['relabel', 'delete', 'relabel', 'delete', 'undo', 'undo last', 'rename',
                        'remove', 'merge', 'save', 'load']
            actions += ['reset'] if self.dice.random() < 0.1 else []
        if history.next_redo():
            actions += ['redo', 'redo']
        action = self.dice.choice(actions)
        before = self.durable.journal.last_number
        if action in ('teach', 'burst'):
            return action, self._teach(1 if action == 'teach' else self.dice.randint(2, 6))
        durable = self.durable
        if action in ('relabel', 'delete'):
            correct(durable, [Correction(self.dice.choice(samples), (self.dice.choice(NAMES),),
                                         delete=action == 'delete')], 'Ada')
        else:
            self._change(action)
        return action, [(entry.number, repr(entry.record))
                        for entry in self.durable.journal.entries(before)]

    def _change(self, action: str) -> None:
        durable, labels = self.durable, self.durable.model.learner.labels
        if action in ('undo', 'redo'):
            turn(durable, EventKind.UNDO if action == 'undo' else EventKind.REDO)
        elif action == 'undo last':
            durable.undo()
        elif action == 'rename':
            rename(durable, self.dice.choice(labels), f'label {self.dice.randint(5, 9)}')
        elif action == 'remove':
            remove(durable, self.dice.choice(labels))
        elif action == 'merge':
            merge_labels(durable, *self.dice.sample(labels, 2))
        elif action == 'save':
            durable.save('kitchen')
        elif action == 'load':
            durable.load('kitchen')
        else:
            durable.reset()

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


def victim(folder: Path, say: Say, seed: int) -> None:
    """Teach and correct until killed; say what was acknowledged."""
    teacher = Teacher(open_durable(folder, new_learner), seed)
    while True:
        try:
            action, entries = teacher.act()
        except (ProEMLCError, ValueError, IndexError):
            continue  # Such as a load that others build on, or a label where none is left.
        say([action, entries])
        if teacher.dice.random() < 0.05:
            teacher.durable.snapshot()


def check(folder: Path, acknowledged: dict[int, str]) -> float:
    """Compare journal, model and acknowledgements; return the largest difference of scores."""
    durable = open_durable(folder, new_learner)
    try:
        found = {entry.number: entry.record for entry in durable.journal.entries()}
        for number, text in acknowledged.items():
            record = found.get(number)
            said = repr(record) if isinstance(record, Event) else f'annotation {record.stamp}'
            assert said == text, f'entry {number} is {said}, acknowledged was {text}'
        stamps = [record.stamp for record in found.values() if isinstance(record, Annotation)]
        assert len(stamps) == len({*stamps}), 'an annotation is there twice'
        return difference(durable)
    finally:
        durable.directory.close()


def difference(durable: DurableModel) -> float:
    """Return how far the scores are from those of a model taught the samples in force."""
    expected = new_learner()
    journal = Journal(durable.directory.journal, read_only=True)
    samples = SampleTable().follow(journal.entries()).samples
    for entry in journal.select(samples):
        expected.learn(entry.record.features, samples[entry.number].labels)
    model = durable.model.learner
    assert model.samples == expected.samples, (model.samples, expected.samples)
    assert sorted(model.labels) == sorted(expected.labels)
    order = [model.labels.index(name) for name in expected.labels]
    return float(np.abs(model.scores(INPUTS)[:, order] - expected.scores(INPUTS)).max(initial=0.0))


def run(kills: int, folder: Path, seed: int = 1) -> tuple[Counter[str], float]:
    """Kill that often; return what was acknowledged by kind, and the largest difference."""
    dice = random.Random(seed)
    counts: Counter[str] = Counter()
    worst = 0.0
    acknowledged: dict[int, str] = {}
    for kill in range(kills):
        said = said_before_kill(partial(victim, folder, seed=seed * 1000 + kill),
                                0.2 + dice.random() * 0.6, least=5)
        for action, entries in said:
            counts[action] += 1
            acknowledged.update((number, text) for number, text in entries)
        DAMAGES[kill % len(DAMAGES)](folder, dice)
        worst = max(worst, check(folder, acknowledged))
        assert worst <= 1e-9, f'scores differ by {worst} after kill {kill}'
    return counts, worst


def run_node(kills: int, folder: Path, context: Any, seed: int = 1) -> tuple[Counter[str], float]:
    """Kill a node that often; return what became of the requests, and the largest difference."""
    from node_corrections import Corrector, compare
    dice, worst = random.Random(seed), 0.0
    lives = NodeLives(folder, snapshot_every=15, max_annotation_rate=0.0, **SETTINGS)
    corrector = Corrector(context, WIDTH, seed)
    try:
        for kill in range(kills):
            lives.start()
            corrector.work(0.2 + dice.random() * 0.8, lives.kill)
            DAMAGES[kill % len(DAMAGES)](folder, dice)
            durable = open_durable(folder, new_learner)
            lost, doubled = compare(corrector.requests, durable.journal.entries())
            assert (lost, doubled) == (0, 0), f'{lost} lost, {doubled} doubled at kill {kill}'
            worst = max(worst, difference(durable))
            durable.directory.close()
            assert worst <= 1e-9, f'scores differ by {worst} after kill {kill}'
    finally:
        lives.kill()
        corrector.close()
    return corrector.counts, worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--node', action='store_true', help='kill the node')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.node:
            import rclpy
            rclpy.init()
            counts, worst = run_node(arguments.kills, Path(scratch, 'model'),
                                     rclpy.get_default_context(), arguments.seed)
        else:
            counts, worst = run(arguments.kills, Path(scratch, 'model'), arguments.seed)
    total = ', '.join(f'{count} {name}' for name, count in sorted(counts.items()))
    print(f'{arguments.kills} kills; acknowledged: {total}; none lost, none doubled; scores '
          f'differ by {worst:.1e}', flush=True)
    if arguments.node:
        # Without taking the node down: Fast DDS up to 2.14.6 may crash when it opens the shared
        # memory of a process that was killed, as it does to say good-bye.
        os._exit(0)
    return 0


if __name__ == '__main__':
    sys.exit(main())
