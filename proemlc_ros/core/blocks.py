# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Learning complete samples in blocks: the same as one by one, with far fewer passes over M."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.labels import LabelColumns, indicators
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import BLOCK
from proemlc_ros.core.thresholds import DecisionRule, Mask

if TYPE_CHECKING:
    from proemlc_ros.core.learner import Learner, Savepoint
    from proemlc_ros.core.prequential import PrequentialRecorder

# Samples whose scores are noted together: noting a few takes nearly as long as noting many.
CHUNK = 4 * BLOCK


class LearntSamples(NamedTuple):
    """What samples were like when they were learnt, one entry or row a sample."""

    scores: Array  # (n, 1 + labels), just before; unnamed label first
    present: Mask  # (n, labels)
    leverages: Array
    squares: Array  # |h|^2
    masses: Array


class Rules(NamedTuple):
    """How labels were chosen for each sample just before it was learnt."""

    thresholds: Array  # (n,)
    at_least: npt.NDArray[np.intp]  # (n,)
    handicaps: Array  # (n, labels); -inf for those not known or not shown by then


def learn_blocks(learner: Learner, rows: Rows, annotations: list[SampleLabels],
                 trial: PrequentialRecorder | None, savepoint: Savepoint) -> None:
    """Learn complete samples in order.

    Args:
        learner: is to learn them.
        rows: the samples.
        annotations: what is said about each.
        trial: where to note what was said about each sample just before it was learnt.
        savepoint: set before anything changes, if samples may be refused after others are learnt.
    """
    names = dict.fromkeys(name for said in annotations for name in said.present)
    known = len(learner.labels)
    hidden_sum = np.zeros_like(learner.last_sum)
    chunks = list(_chunks(learner, rows.shape[0]))
    for start, *stops in chunks:
        hidden = learner.hidden_rows(rows[start:stops[-1]])
        squares = np.einsum('ij,ij->i', hidden, hidden)
        if len(chunks) > 1 or len(stops) > 1 and not learner.ridge.surely_takes(squares.max()):
            savepoint.set()
        parts = [_learn_block(learner, hidden[begin - start:end - start], annotations[begin:end],
                              names, learner.samples == begin == 0)
                 for begin, end in zip([start, *stops], stops)]
        scores, present, leverages = map(np.concatenate, zip(*parts))
        learnt = LearntSamples(scores, present, leverages, squares, learner.layer.masses(hidden))
        rules, known = _note(learner, learnt, known)
        if trial is not None:
            trial.record_block(learner, rules, learnt)
        learner.samples += len(hidden)
        learner.mass += float(learnt.masses.sum())
        hidden_sum += hidden.sum(axis=0)
    learner.last_sum = hidden_sum


def _chunks(learner: Learner, count: int) -> Iterator[list[int]]:
    """Yield the chunks: where each begins, and where each of its blocks ends.

    The first samples of all need one product with M less than the others, which pays as long as
    they are fewer than half the neurons.
    """
    chunk = [0]
    length = max(BLOCK, learner.layer.size // 2) if learner.samples == 0 else BLOCK
    while chunk[-1] < count:
        chunk.append(min(count, chunk[-1] + length))
        length = BLOCK
        if chunk[-1] == count or chunk[-1] - chunk[0] >= CHUNK:
            yield chunk
            chunk = chunk[-1:]


def _learn_block(learner: Learner, hidden: Array, block: list[SampleLabels],
                 names: Iterable[str], first: bool) -> tuple[Array, Mask, Array]:
    """Learn a block; when it is refused, nothing has changed.

    Args:
        learner: is to learn it.
        hidden: its rows.
        block: what is said about each.
        names: labels that must be known.
        first: nothing has been learnt before.

    Returns:
        The scores before, the labels shown, and the leverages.

    """
    prepared = learner.ridge.prepare_rows(hidden, first)
    learner.grow(names)
    labels = learner.labels
    present = indicators([said.present for said in block], labels.columns, len(labels) + 1)
    targets = np.where(present, 1.0, -1.0).astype(hidden.dtype, copy=False)
    scores = targets - learner.ridge.update_rows(hidden, prepared, targets)
    return scores, present[:, 1:], prepared.leverages


def _note(learner: Learner, learnt: LearntSamples, known: int) -> tuple[Rules, int]:
    """Count the labels of a chunk and learn the thresholds, as if sample by sample.

    known: how many labels were known before; of the return value, after.
    """
    labels, (scores, present) = learner.labels, learnt[:2]
    held: list[tuple[int, DecisionRule]] = []
    handicaps = np.full(present.shape, -np.inf)
    start = 0
    while start < len(present):
        # Until a label is shown for the first time, what holds for one sample holds for the next.
        stretch = slice(start, start + _first_shown(labels, present[start:]) + 1)
        handicaps[stretch, :known] = labels.handicap[:known]
        held += [(start + place, choice) for place, choice in learner.thresholds.observe_rows(
            scores[stretch, 1:] + labels.handicap, present[stretch])]
        shown = present[stretch].sum(axis=0)
        for place in shown.nonzero()[0].tolist():
            labels.count(labels.names[place], int(shown[place]))
            known = max(known, place + 1)
        start = stretch.stop
    lengths = np.diff([place for place, _ in held], append=len(present))
    thresholds, at_least = zip(*(choice for _, choice in held))
    return Rules(np.repeat(thresholds, lengths), np.repeat(at_least, lengths), handicaps), known


def _first_shown(labels: LabelColumns, present: Mask) -> int:
    """Return which sample is the first with a label never shown; behind the last: none is."""
    unseen = present[:, labels.handicap == -np.inf].any(axis=1)
    return int(unseen.argmax()) if unseen.any() else len(present)
