# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Kills a classifier under annotations and renewals, opens its folder again, checks the books.

    python test/trials/renewal_kills.py --kills 100

Renewals follow each other without a pause, most of them in the classifier's own process and all
taken for better, so that many kills fall into a swap; some in their real process. Every
acknowledged annotation must be in the model once. Its scores must equal those of the renewed layer
that learnt the samples of the journal without interruption.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill_harness import Say, open_durable, said_before_kill

from proemlc_ros.classifier import renewal_task
from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection import search
from proemlc_ros.core.selection.search import CANDIDATES
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, EventKind

WIDTH = 6
PROBES = np.random.default_rng(5).normal(size=(10, WIDTH))
# Of the victims, how many renew in the real process, which takes its time to start.
IN_REAL_PROCESS = 0.2
RENEWED = 'renewed'


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=20, seed=2)


def annotation_of(number: int) -> Annotation:
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    labels = (f'label {number % 5}', f'rare {number // 1000}')
    return Annotation(number, labels, features=values)


class ThisProcess:
    """Renews in this process, with few candidates, and takes every renewed model for better."""

    def run(self, task):
        search.CANDIDATES = CANDIDATES[:2]
        renewal_task.is_better = lambda *points: True
        return renewal_task.renew(
            task, lambda: Journal(Path(task.journal), read_only=True).entries())

    def stop(self):
        pass


def victim(folder: Path, say: Say, start: int, real: bool) -> None:
    """Teach and renew until killed; say the number of each acknowledged annotation."""
    classifier = Classifier(open_durable(folder, new_learner))
    renewals, number = classifier.renewals, start
    renewals.most = 25
    if not real:
        renewals.process = ThisProcess()
    waiting = None
    while True:
        learnt = classifier.annotate(annotation_of(number)).result()
        say(learnt.annotation.stamp)
        number += 1
        if waiting is None or waiting.done():
            if classifier.durable.model.renewed_at:
                say(RENEWED)
            waiting = renewals.request()
        if number % 7 == 0:
            classifier.durable.snapshot()
        time.sleep(0.01)  # A rate at which the journal of a hundred lives stays short.


def check(folder: Path, acknowledged: list[int]) -> str:
    """Compare journal, model and acknowledgements; return one line for people."""
    durable = open_durable(folder, new_learner)
    entries = list(durable.journal.entries())
    learnt = [entry.record.stamp for entry in entries if isinstance(entry.record, Annotation)]
    renewals = [entry for entry in entries if not isinstance(entry.record, Annotation)]
    assert all(entry.record.kind is EventKind.RENEW for entry in renewals)
    assert len(set(learnt)) == len(learnt), 'an annotation is there twice'
    missing = set(acknowledged) - set(learnt)
    assert not missing, f'acknowledged and lost: {sorted(missing)}'
    model = durable.model.learner
    assert model.samples == len(learnt), (model.samples, len(learnt))
    assert durable.model.renewed_at, 'the model was never renewed'
    uninterrupted = model.empty_copy()
    for number in learnt:
        said = annotation_of(number)
        uninterrupted.learn(said.features, said.labels)
    assert model.labels == uninterrupted.labels
    assert model.counts == uninterrupted.counts
    error = float(np.abs(model.scores(PROBES) - uninterrupted.scores(PROBES)).max())
    assert error <= 1e-9, f'scores differ by {error}'
    # The same without snapshots: from the first entry on.
    durable.directory.close()
    for path in durable.directory.snapshots:
        path.unlink(missing_ok=True)
    again = open_durable(folder, new_learner)
    from_journal = float(np.abs(again.model.learner.scores(PROBES) - model.scores(PROBES)).max())
    assert from_journal <= 1e-9, f'a replay of the whole journal differs by {from_journal}'
    assert not list(folder.glob('.renewal*')), 'files of killed renewals are left'
    again.directory.close()
    return (f'{len(acknowledged)} acknowledged, {len(learnt)} learnt, {len(renewals)} renewals, '
            f'none lost, none twice; scores differ by {error:.1e}, after a replay of all by '
            f'{from_journal:.1e}; {len(again.journal.attachments)} contents kept')


def run(kills: int, folder: Path, seed: int = 1) -> str:
    """Kill a classifier that often; return one line for people."""
    dice = random.Random(seed)
    acknowledged: list[int] = []
    start = 1
    for life in range(kills):
        real = dice.random() < IN_REAL_PROCESS
        said = said_before_kill(
            partial(victim, folder, start=start, real=real),
            dice.random() * (4.0 if real else 1.5), wanted='' if life else RENEWED)
        acknowledged += [word for word in said if word != RENEWED]
        # Behind everything that the victim may have written without a word.
        start = max(acknowledged, default=0) + 10
    return f'{kills} kills: {check(folder, acknowledged)}'


def main() -> None:
    """Run the trial from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(run(arguments.kills, Path(scratch, 'model'), arguments.seed))


if __name__ == '__main__':
    main()
