# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One pass of the learner over a stream whose labels come group after group."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.metrics import hamming_loss
from proemlc_ros.evaluation.introduction import group_of_labels, parse_pattern
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments.protocol import Fold, group_starts

_CURVE_POINTS = 40


@dataclass
class StreamRun:
    """What a pass gave.

    Attributes:
        predicted: Indicators of the test samples.
        scores: Their scores, one column per label of the data set.
        curve: Samples learnt, Hamming loss over all labels, and over the labels of later groups.
        starts: Where in the stream the groups after the first were introduced.

    """

    predicted: np.ndarray
    scores: np.ndarray
    training_seconds: float
    test_seconds: float
    memory_bytes: int
    threshold: float
    starts: list[int] = field(default_factory=list)
    curve: list[tuple[int, float, float]] = field(default_factory=list)


class Stream:
    """The samples of a fold as a learner meets them under one introduction pattern.

    Args:
        data: The data set.
        fold: Its stream and its test samples.
        pattern: Which labels are there from the start, and which come together later.
        chunk: Samples per update after the initial block.

    """

    def __init__(self, data: DataSet, fold: Fold, pattern: str, chunk: int = 1) -> None:
        """Prepare the stream."""
        self.data, self.fold, self.pattern, self.chunk = data, fold, pattern, chunk
        self.sizes = parse_pattern(pattern, data.Y.shape[1])
        self.truth = truth = data.Y[fold.train]
        self.starts = group_starts(truth, self.sizes)
        self.block = self.starts[0] if self.starts else len(truth)
        self.groups = group_of_labels(self.sizes)
        self.names = [[data.label_names[column] for column in np.flatnonzero(row)]
                      for row in truth]
        self.X = data.X[fold.train]

    def first_labels(self) -> list[str]:
        """Return the labels that are known from the start."""
        return self._labels_of(0)

    def run(self, settings: dict[str, Any], curve: bool = False,
            initial: int | None = None) -> StreamRun:
        """Learn the stream and predict the test samples.

        Args:
            settings: Keywords of ProEMLC.
            curve: Whether to measure the test error along the way, outside the timing.
            initial: Samples of the initial block, which fix the hidden layer; None: all before
                the first new label; 0: no initial block, every sample is learnt as it comes.

        """
        model = ProEMLC(**settings, labels=self.first_labels())
        first = self.block if initial is None else min(self.block, initial)
        points: list[tuple[int, float, float]] = []
        seconds = 0.0
        if first:
            began = time.process_time()
            model.learn_initial(self.X[:first], self.names[:first])
            seconds = time.process_time() - began
            if curve:
                points.append(self._point(model, first))
        every = max(1, len(self.names) // _CURVE_POINTS)
        for start, stop in self._steps(first):
            began = time.process_time()
            self._learn(model, start, stop)
            seconds += time.process_time() - began
            if curve and (stop // every > start // every or stop == len(self.names)):
                points.append(self._point(model, stop))
        began = time.process_time()
        model.fit_decision()  # By all samples, as the settings are; in a stream it lags behind.
        seconds += time.process_time() - began
        began = time.process_time()
        predicted = self._predicted(model)
        test_seconds = time.process_time() - began
        return StreamRun(predicted, self._scores(model), seconds, test_seconds,
                         model.memory_bytes, float(max(model.thresholds, default=0.0)),
                         self.starts, points)

    def _steps(self, first: int) -> list[tuple[int, int]]:
        """Return chunks that no introduction cuts through."""
        borders = [first, *(start for start in self.starts if start > first), len(self.names)]
        return [(start, min(start + self.chunk, high)) for low, high in zip(borders, borders[1:])
                for start in range(low, high, self.chunk)]

    def _learn(self, model: ProEMLC, start: int, stop: int) -> None:
        names = self.names[start:stop]
        if start not in self.starts:
            model.learn(self.X[start:stop], names)
            return
        # The whole group is introduced together: the first sample mentions all of its labels.
        fresh = [name for number, place in enumerate(self.starts, 1) if place == start
                 for name in self._labels_of(number)]
        absent = [[name for name in fresh if name not in names[0]]] + [[] for _ in names[1:]]
        model.learn(self.X[start:stop], names, absent)

    def _labels_of(self, group: int) -> list[str]:
        return [self.data.label_names[column] for column in np.flatnonzero(self.groups == group)]

    def _point(self, model: ProEMLC, samples: int) -> tuple[int, float, float]:
        model.fit_decision()
        truth, predicted = self.data.Y[self.fold.test], self._predicted(model)
        late = self.groups > 0
        return (samples, hamming_loss(truth, predicted),
                hamming_loss(truth[:, late], predicted[:, late]))

    def _predicted(self, model: ProEMLC) -> np.ndarray:
        place = {name: column for column, name in enumerate(self.data.label_names)}
        predicted = np.zeros((len(self.fold.test), len(place)), dtype=bool)
        for row, names in enumerate(model.predict(self.data.X[self.fold.test])):
            predicted[row, [place[name] for name in names]] = True
        return predicted

    def _scores(self, model: ProEMLC) -> np.ndarray:
        place = {name: column for column, name in enumerate(self.data.label_names)}
        scores = np.full((len(self.fold.test), len(place)), -1.0)
        columns = [place[name] for name in model.labels]
        scores[:, columns] = model.scores(self.data.X[self.fold.test])
        return scores
