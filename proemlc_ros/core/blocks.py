# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning complete samples in blocks: the same as one by one, with far fewer passes over M."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.labels import Annotation, LabelTable
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.core.thresholds import Choice

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner
    from proemlc_ros.core.trial import Trial

# From which sample of a block on labels were chosen how: its place, the choice, and the handicaps
# of the labels known then.
Rules = list[tuple[int, Choice, Array]]


def learn_blocks(learner: Learner, rows: Rows, annotations: list[Annotation],
                 trial: Trial | None) -> None:
    """Learn complete samples in order.

    trial: where to note what was said about each sample just before it was learnt.
    """
    chunk_sum = np.zeros_like(learner.last_sum)
    names = dict.fromkeys(name for said in annotations for name in said.present)
    known = len(learner.labels)
    for start, stop in _steps(learner, rows.shape[0]):
        hidden = learner.layer.rows(rows[start:stop])
        prepared = learner.ridge.prepare_rows(hidden, learner.samples == 0)
        learner.grow(names)
        block = annotations[start:stop]
        targets = _targets(learner, block)
        scores = targets - learner.ridge.update_rows(hidden, prepared, targets)
        rules, known = _note(learner, scores, targets[:, 1:] > 0.0, known)
        masses = np.array([learner.layer.mass(row) for row in hidden])
        if trial is not None:
            trial.record_block(learner, rules, scores, prepared.leverages, hidden, masses)
        learner.samples += len(block)
        learner.mass += float(masses.sum())
        chunk_sum += hidden.sum(axis=0)
    learner.last_sum = chunk_sum


def _steps(learner: Learner, count: int) -> Iterator[tuple[int, int]]:
    """Yield the blocks: start and stop.

    The first samples of all need one product with M less than the others, which pays as long as
    they are fewer than half the neurons.
    """
    start = 0
    first = max(BLOCK, learner.layer.size // 2) if learner.samples == 0 else BLOCK
    while start < count:
        stop = min(count, start + (first if start == 0 else BLOCK))
        yield start, stop
        start = stop


def _targets(learner: Learner, block: list[Annotation]) -> Array:
    """Return the targets (n, outputs) of complete annotations."""
    columns = learner.labels.columns
    targets = np.full((len(block), len(columns) + 1), -1.0, dtype=learner.options.dtype)
    places = [(place, columns[name]) for place, said in enumerate(block) for name in said.present]
    if places:
        targets[tuple(zip(*places))] = 1.0
    return targets


def _note(learner: Learner, scores: Array, present: npt.NDArray[np.bool_],
          known: int) -> tuple[Rules, int]:
    """Count the labels of a block and learn the thresholds, as if sample by sample."""
    labels = learner.labels
    rules: Rules = []
    start = 0
    while start < len(present):
        # Until a label is shown for the first time, what holds for one sample holds for the next.
        stretch = slice(start, start + _first_shown(labels, present[start:]) + 1)
        handicap = labels.handicap[:known].copy()
        rules += [(start + place, choice, handicap)
                  for place, choice in learner.thresholds.observe_rows(
                      scores[stretch, 1:] + labels.handicap, present[stretch])]
        shown = present[stretch].sum(axis=0)
        for place in shown.nonzero()[0].tolist():
            labels.count(labels.names[place], int(shown[place]))
            known = max(known, place + 1)
        start = stretch.stop
    return rules, known


def _first_shown(labels: LabelTable, present: npt.NDArray[np.bool_]) -> int:
    """Return which sample is the first with a label never shown; behind the last: none is."""
    unseen = present[:, labels.handicap == -np.inf].any(axis=1)
    return int(unseen.argmax()) if unseen.any() else len(present)
