# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, dozens of times: what was acknowledged is learnt, and once."""

from __future__ import annotations

import os
import random
from functools import partial

import numpy as np
import pytest
from kill_harness import Say, open_durable, said_before_kill

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.records import Annotation, Learnt

KILLS = 40
WIDTH = 6
PROBES = np.random.default_rng(5).normal(size=(10, WIDTH))


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=20, activation='relu', scaling='none', seed=2)


def lesson(number: int) -> Annotation:
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    labels = (f'label {number % 5}', f'rare {number // 40}')
    return Annotation(number, labels, features=values, complete=number % 3 > 0)


def open_session(folder) -> DurableModel:
    return open_durable(folder, new_learner, max_file_bytes=40_000)


def victim(folder, say: Say, start: int) -> None:
    """Teach until killed; say the number of each acknowledged lesson."""
    durable = open_session(folder)
    number = start
    while True:
        batch = [lesson(number + offset) for offset in range(1 + number % 3)]
        for annotation, answer in zip(batch, durable.learn(batch)):
            assert isinstance(answer, Learnt), answer
            say(annotation.stamp)
        number += len(batch)
        if number % 7 == 0:
            durable.snapshot()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled(tmp_path):
    folder = tmp_path / 'model'
    dice = random.Random(1)
    acknowledged: list[int] = []
    start = 1
    for kill in range(KILLS):
        acknowledged += said_before_kill(
            partial(victim, folder, start=start), dice.random() * 0.08)
        # Behind everything that the victim may have written without a word.
        start = max(acknowledged) + 10
        if kill % 4 == 0:
            path = max((folder / 'journal').glob('*.db3'), key=lambda p: p.stat().st_mtime)
            os.truncate(path, path.stat().st_size - dice.randint(1, 5000))
    durable = open_session(folder)
    learnt = [entry.record.stamp for entry in durable.journal.entries()]
    assert len(acknowledged) > KILLS
    assert len(set(learnt)) == len(learnt)
    assert set(acknowledged) <= set(learnt)
    assert durable.model.learner.samples == len(learnt)
    uninterrupted = new_learner()
    for number in learnt:
        taught = lesson(number)
        uninterrupted.learn(taught.features, taught.labels, complete=taught.complete)
    assert durable.model.learner.labels == uninterrupted.labels
    np.testing.assert_allclose(
        durable.model.learner.scores(PROBES), uninterrupted.scores(PROBES), atol=1e-9)
    np.testing.assert_allclose(durable.model.learner.thresholds, uninterrupted.thresholds)
