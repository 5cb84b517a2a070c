# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Support vector machines, and the baselines made of them: CC, ECC, HOMER, QWML, one per label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from proemlc_ros.experiments.baselines import Baseline, from_probabilities

# Beyond this many labels one kernel machine per label takes hours; then they are linear.
MANY_LABELS = 100

SMALL_GRID = ({'kernel': 'rbf', 'C': 10.0}, {'kernel': 'linear', 'C': 1.0},
              {'kernel': 'linear', 'C': 0.1})
LARGE_GRID = ({'kernel': 'linear', 'C': 0.1}, {'kernel': 'linear', 'C': 0.01})
# Each chain sees this part of the samples, drawn without replacement.
_SHARE = 2.0 / 3.0


class Machine(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """A binary support vector machine that also takes samples of a single class.

    A linear machine is kept as weights and offset with the scaling worked in, a single class as an
    offset alone, so that asking many of them is a product.
    """

    def __init__(self, kernel: str = 'linear', C: float = 1.0, gamma_scale: float = 1.0) -> None:
        """Keep the settings; gamma_scale: times the usual gamma of a kernel."""
        self.kernel = kernel
        self.C = C
        self.gamma_scale = gamma_scale

    def fit(self, X: Any, y: Any) -> Machine:
        """Learn from samples and 0/1 targets."""
        self.classes_ = np.array([0, 1])
        self.machine_ = None
        self.weights_, self.offset_ = np.zeros(X.shape[1]), 0.0
        wanted = np.asarray(y).astype(bool)
        if wanted.all() or not wanted.any():
            self.offset_ = 1.0 if wanted.all() else -1.0
            return self
        # Machines are many and small: checking their settings takes longer than fitting them.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            # Means of sparse features would fill the zeros; their spread alone can be evened out.
            scaler = None if _binary(X) else StandardScaler(
                with_mean=isinstance(X, np.ndarray)).fit(X)
            scaled = X if scaler is None else scaler.transform(X)
            if self.kernel == 'linear':
                machine = LinearSVC(C=self.C, random_state=0).fit(scaled, wanted)
                self._unscale(machine, scaler)
            else:
                kernel = SVC(kernel=self.kernel, C=self.C,
                             gamma=self.gamma_scale * _usual_gamma(scaled))
                self.machine_ = make_pipeline(scaler or 'passthrough', kernel.fit(scaled, wanted))
        return self

    def _unscale(self, machine: LinearSVC, scaler: StandardScaler | None) -> None:
        self.weights_, self.offset_ = machine.coef_[0], float(machine.intercept_[0])
        if scaler is not None:
            self.weights_ = self.weights_ / scaler.scale_
            if scaler.with_mean:
                self.offset_ -= float(self.weights_ @ scaler.mean_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the distance to the boundary."""
        if self.machine_ is None:
            return np.asarray(X @ self.weights_ + self.offset_)
        return np.asarray(self.machine_.decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return 0 or 1 for each sample."""
        return (self.decision_function(X) > 0.0).astype(int)


def distances(machines: Sequence[Machine], X: Any) -> np.ndarray:
    """Return the distances (n, machines) of several machines."""
    if all(machine.machine_ is None for machine in machines):
        weights = np.stack([machine.weights_ for machine in machines], axis=1)
        return np.asarray(X @ weights + [machine.offset_ for machine in machines])
    return np.column_stack([machine.decision_function(X) for machine in machines])


def _usual_gamma(X: Any) -> float:
    """Return what scikit-learn calls 'scale': 1 / (features * variance)."""
    mean = float(X.mean())
    squares = X * X if isinstance(X, np.ndarray) else X.multiply(X)
    variance = float(squares.mean()) - mean * mean
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0


def _binary(X: Any) -> bool:
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(np.isin(values[:100], (0.0, 1.0)).all())


@dataclass
class OneAgainstAll(Baseline):
    """One kernel machine per label, each by itself, tuned: the strongest simple baseline."""

    C: float = 10.0
    gamma_scale: float = 1.0
    category = 'SVM'
    reference = 'Boser, Guyon, Vapnik: A training algorithm for optimal margin classifiers. ' \
                'COLT 1992; one machine per label (binary relevance)'

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self._machines = [Machine('rbf', self.C, self.gamma_scale).fit(X, column)
                          for column in Y.T]

    def scores(self, X: Any) -> np.ndarray:
        """Return the machines' distances."""
        return distances(self._machines, X)

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying; few where each takes long."""
        grid = tuple({'C': C, 'gamma_scale': gamma} for C in (10.0, 1.0, 100.0)
                     for gamma in (1.0, 0.3, 3.0))
        return grid if labels <= MANY_LABELS else grid[:2]


@dataclass
class _Machines(Baseline):
    """A baseline of support vector machines of one kind.

    Attributes:
        most: Number of settings that are tried, at most.
    """

    kernel: str = 'linear'
    C: float = 1.0
    most: ClassVar[int] = len(SMALL_GRID)
    category = 'SVM'

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying."""
        return (SMALL_GRID if labels <= MANY_LABELS else LARGE_GRID)[:cls.most]


class Chain(_Machines):
    """One chain of support vector machines, in random order."""

    reference = 'Read, Pfahringer, Holmes, Frank: Classifier chains for multi-label ' \
                'classification. Machine Learning 85, 2011'

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.chain = ClassifierChain(Machine(self.kernel, self.C), order='random',
                                     random_state=self.seed).fit(X, Y.astype(int))

    def scores(self, X: Any) -> np.ndarray:
        """Return the machines' distances."""
        return np.asarray(self.chain.decision_function(X))


@dataclass
class EnsembleOfChains(_Machines):
    """Ten chains of support vector machines."""

    count: int = 10
    most = 2
    reference = Chain.reference

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.chains = [Chain(self.seed + number, self.kernel, self.C)
                       for number in range(self.count)]
        random = np.random.default_rng(self.seed)
        for chain in self.chains:
            part = np.sort(random.permutation(len(Y))[:max(1, round(_SHARE * len(Y)))])
            chain.fit(X[part], Y[part])

    def scores(self, X: Any) -> np.ndarray:
        """Return the share of chains that name a label, from -1 to 1."""
        votes = np.mean([chain.predict(X) for chain in self.chains], axis=0)
        return from_probabilities(votes)


_ROUNDS = 10


@dataclass
class Hierarchy(_Machines):
    """Balanced k-means splits the labels again and again; a machine guards each cluster.

    A cluster is shown by the samples that have any of its labels, and is learnt from the samples
    that its parent shows. A label is present when every machine on its path says so.
    """

    clusters: int = 3
    reference = 'Tsoumakas, Katakis, Vlahavas: Effective and efficient multilabel ' \
                'classification in domains with large number of labels. ECML/PKDD MMD, 2008'

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.labels: int = Y.shape[1]
        self.guards: list[tuple[np.ndarray, Machine]] = []
        waiting = [np.arange(self.labels)]
        while waiting:
            members = waiting.pop()
            rows = (np.arange(len(Y)) if members.size == self.labels
                    else np.flatnonzero(Y[:, members].any(axis=1)))
            for part in _balanced_clusters(Y[:, members].T, self.clusters, self.seed):
                child = members[part]
                shown = Y[np.ix_(rows, child)].any(axis=1)
                machine = Machine(self.kernel, self.C)
                if rows.size:
                    machine.fit(X[rows], shown)
                else:
                    machine.fit(X[:1], [False])
                self.guards.append((child, machine))
                if child.size > 1:
                    waiting.append(child)

    def scores(self, X: Any) -> np.ndarray:
        """Return the least distance on a label's path: all guards must agree."""
        scores = np.full((X.shape[0], self.labels), np.inf)
        for members, machine in self.guards:
            distances = machine.decision_function(X)[:, np.newaxis]
            scores[:, members] = np.minimum(scores[:, members], distances)
        return scores


def _balanced_clusters(vectors: np.ndarray, clusters: int, seed: int) -> list[np.ndarray]:
    """Split vectors into clusters of equal size, up to one.

    Each vector in turn goes to the nearest centre with room; a full cluster gives up its farthest
    member for a nearer one, which then looks for its next best place.
    """
    count = len(vectors)
    clusters = min(clusters, count)
    points = vectors.astype(np.float64)
    centres = _far_apart(points, clusters, seed)
    room = -(-count // clusters)
    places = np.zeros(count, dtype=np.intp)
    for _ in range(_ROUNDS):
        distances = np.linalg.norm(points[:, np.newaxis] - centres[np.newaxis], axis=2)
        before, places = places, _assign(distances, room)
        if np.array_equal(before, places):
            break
        centres = np.array([points[places == number].mean(axis=0) if (places == number).any()
                            else centres[number] for number in range(clusters)])
    return [np.flatnonzero(places == number) for number in range(clusters)
            if (places == number).any()]


def _far_apart(points: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Return first centres: a random point, then ever the one farthest from those chosen."""
    chosen = [int(np.random.default_rng(seed).integers(len(points)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < clusters:
        nearest = np.minimum(nearest, np.linalg.norm(points - points[chosen[-1]], axis=1))
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return points[chosen]


def _assign(distances: np.ndarray, room: int) -> np.ndarray:
    members: list[list[int]] = [[] for _ in range(distances.shape[1])]
    for point in range(len(distances)):
        looking, tried = point, 0
        preference = np.argsort(distances[looking], kind='stable')
        while True:
            number = int(preference[tried])
            members[number].append(looking)
            if len(members[number]) <= room:
                break
            farthest = max(members[number], key=lambda other: distances[other, number])
            members[number].remove(farthest)
            looking = farthest
            preference = np.argsort(distances[looking], kind='stable')
            tried = int(np.flatnonzero(preference == number)[0]) + 1
    places = np.zeros(len(distances), dtype=np.intp)
    for number, group in enumerate(members):
        places[group] = number
    return places


class QuickWeighted(_Machines):
    """Calibrated label ranking with a machine for each pair of labels.

    One more machine per label sets it against a virtual label that separates present from absent
    ones. A label's votes are the duels it wins; labels with more votes than the virtual label are
    present. The quick vote asks the duels of the label that has lost least so far, until the best
    one is certain, takes it out and goes on until the virtual label comes first.
    """

    reference = 'Loza Mencia, Park, Fuernkranz: Efficient voting prediction for pairwise ' \
                'multilabel classification. Neurocomputing 73, 2010'

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators; column m is the virtual label."""
        self.labels: int = Y.shape[1]
        self.machines: dict[tuple[int, int], Machine] = {}
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
            return np.asarray(super().predict(X))
        outcomes = {(first, second): won[:, place] for first, seconds, won in self._outcomes(X)
                    for place, second in enumerate(seconds)}
        predicted = np.zeros((X.shape[0], self.labels), dtype=bool)
        for row in range(X.shape[0]):
            wins = {pair: bool(won[row]) for pair, won in outcomes.items()}
            chosen = _quick_vote(self.labels + 1, lambda *pair, wins=wins: wins.get(pair))
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
        return super().settings_for(labels)[-1:] if labels > 40 else super().settings_for(labels)


def _quick_vote(players: int, duel: Callable[[int, int], bool | None]) -> list[int]:
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
