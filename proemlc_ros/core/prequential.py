# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Test, then train: what a model said about each sample just before it learnt it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proemlc_ros.core.blocks import LearntSamples, Rules
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.prediction import choose, novelties_of, novelty_of
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.thresholds import Mask, decide


class PrequentialResult(NamedTuple):
    """What was said about n samples, each just before it was learnt."""

    labels: list[tuple[str, ...]]  # predicted, best score first
    scores: Array  # (n, labels); of a label not known yet: the score that it would have had
    novelty: Array  # (n,)


class PrequentialRecorder:
    """Collects what was said, sample by sample or block by block."""

    def __init__(self) -> None:
        """Start empty."""
        self._labels: list[tuple[str, ...]] = []
        self._outputs: list[Array] = []
        self._novelty: list[Array] = []

    def record(self, learner: Learner, known: int, outputs: Array, leverage: float,
               hidden: Array) -> None:
        """Note one sample: its outputs, unnamed label first, when `known` labels were known."""
        scores = outputs[1:known + 1] + learner.labels.handicap[:known]
        self._labels.append(choose(learner, scores))
        self._outputs.append(outputs[np.newaxis])
        self._novelty.append(np.array([novelty_of(learner, hidden, leverage)]))

    def record_block(self, learner: Learner, rules: Rules, learnt: LearntSamples) -> None:
        """Note a block of samples as they were before each of them was learnt.

        Args:
            learner: with samples and mass as before the block.
            rules: how their labels were chosen.
            learnt: what they were like.
        """
        scores = learnt.scores[:, 1:] + rules.handicaps
        chosen = decide(scores, rules.thresholds[:, np.newaxis], rules.at_least)
        self._labels += _names_of(learner.labels.names, chosen, scores)
        self._outputs.append(learnt.scores)
        self._novelty.append(novelties_of(learner, learnt))

    def record_nothing(self, known: int) -> None:
        """Note that nothing had been learnt yet."""
        self._labels.append(())
        self._outputs.append(np.zeros((1, known + 1)))
        self._novelty.append(np.ones(1))

    def outcome(self, labels: int) -> PrequentialResult:
        """Return everything noted, with scores for that many labels."""
        scores = np.empty((len(self._labels), labels))
        start = 0
        for outputs in self._outputs:
            part = scores[start:start + len(outputs)]
            part[:] = outputs[:, :1]
            part[:, :outputs.shape[1] - 1] = outputs[:, 1:]
            start += len(outputs)
        return PrequentialResult(self._labels, scores, np.concatenate(self._novelty))


def _names_of(names: list[str], chosen: Mask, scores: Array) -> list[tuple[str, ...]]:
    """Return the chosen labels of each row, best score first."""
    rows, columns = chosen.nonzero()
    best_first = np.lexsort((-scores[rows, columns], rows))
    ranked = [names[column] for column in columns[best_first].tolist()]
    stops = chosen.sum(axis=1).cumsum().tolist()
    return [tuple(ranked[start:stop]) for start, stop in zip([0, *stops], stops)]
