# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""QWML: pairwise machines, of which a quick weighted vote asks only as many as it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from proemlc_ros.experiments.baselines.baseline import Baseline
from proemlc_ros.experiments.baselines.svm import Machine, distances, grid_for


class QuickWeighted(Baseline):
    """Calibrated label ranking with a machine for each pair of labels.

    One more machine per label sets it against a virtual label that separates present from absent
    ones. A label's votes are the duels it wins; labels with more votes than the virtual label are
    present. The quick vote asks the duels of the label that has lost least so far, until the best
    one is certain, takes it out and goes on until the virtual label comes first.
    """

    category = 'SVM'
    reference = 'Loza Mencia, Park, Fuernkranz: Efficient voting prediction for pairwise ' \
                'multilabel classification. Neurocomputing 73, 2010'

    def __init__(self, kernel: str = 'linear', C: float = 1.0, seed: int = 0) -> None:
        """Keep the settings of the machines."""
        super().__init__(seed)
        self.kernel, self.C = kernel, C
        self.machines: dict[tuple[int, int], Machine] = {}
        self.labels = 0

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators; column m is the virtual label."""
        self.labels = Y.shape[1]
        for first in range(self.labels):
            for second in range(first + 1, self.labels):
                differ = np.flatnonzero(Y[:, first] != Y[:, second])
                if differ.size:
                    self._train(first, second, X[differ], Y[differ, first])
            self._train(first, self.labels, X, Y[:, first])

    def scores(self, X: Any) -> np.ndarray:
        """Return the votes above the virtual label's, as a share of all duels of a label."""
        votes = np.zeros((X.shape[0], self.labels + 1))
        for first, seconds, won in self._outcomes(X):
            votes[:, first] += won.sum(axis=1)
            votes[:, seconds] += ~won
        return (votes[:, :-1] - votes[:, -1:]) / max(1, self.labels)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels that come before the virtual one in the quick vote."""
        if self.labels > 60:  # one array operation per label is faster than asking pair by pair
            return super().predict(X)
        outcomes = {(first, second): won[:, place] for first, seconds, won in self._outcomes(X)
                    for place, second in enumerate(seconds)}
        predicted = np.zeros((X.shape[0], self.labels), dtype=bool)
        for row in range(X.shape[0]):
            chosen = quick_vote(self.labels + 1, partial(_duel, outcomes, row))
            predicted[row, chosen] = True
        return predicted

    def _outcomes(self, X: Any) -> Iterator[tuple[int, list[int], np.ndarray]]:
        """Yield for each label its opponents and which samples' duels (n, opponents) it wins."""
        for first, pairs in groupby(self.machines, key=lambda pair: pair[0]):
            seconds = [second for _, second in pairs]
            yield first, seconds, distances(
                [self.machines[first, second] for second in seconds], X) > 0.0

    def _train(self, first: int, second: int, X: Any, wins: np.ndarray) -> None:
        self.machines[first, second] = Machine(self.kernel, self.C).fit(X, wins)

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying."""
        return grid_for(labels)[-1:] if labels > 40 else grid_for(labels)


def _duel(outcomes: Mapping[tuple[int, int], np.ndarray], row: int, first: int,
          second: int) -> bool | None:
    won = outcomes.get((first, second))
    return None if won is None else bool(won[row])


def quick_vote(players: int, duel: Callable[[int, int], bool | None]) -> list[int]:
    """Return the players ranked before the last one (the virtual label), best first.

    Args:
        players: Their number; the last is the virtual label.
        duel: For first < second, whether the first wins; None: there is no such machine.

    """
    losses = np.zeros(players)
    asked = np.eye(players, dtype=bool)
    chosen: list[int] = []
    left = set(range(players))
    while True:
        # Among equals the virtual label comes first: a label needs more votes than it.
        best = min(left, key=lambda player: (losses[player], player != players - 1))
        opponents = [other for other in range(players) if not asked[best, other]]
        if not opponents:
            if best == players - 1:
                return chosen
            chosen.append(best)
            left.discard(best)
            continue
        other = min(opponents, key=lambda player: losses[player])
        asked[best, other] = asked[other, best] = True
        won = duel(min(best, other), max(best, other))
        if won is not None:
            losses[max(best, other) if won else min(best, other)] += 1
