# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""HOMER: a hierarchy of small multi-label problems over balanced clusters of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.experiments.baselines.baseline import Baseline
from proemlc_ros.experiments.baselines.svm import Machine, grid_for

_ROUNDS = 10


class Hierarchy(Baseline):
    """Balanced k-means splits the labels again and again; a machine guards each cluster.

    A cluster is shown by the samples that have any of its labels, and is learnt from the samples
    that its parent shows. A label is present when every machine on its path says so.
    """

    category = 'SVM'
    reference = 'Tsoumakas, Katakis, Vlahavas: Effective and efficient multilabel ' \
                'classification in domains with large number of labels. ECML/PKDD MMD, 2008'

    def __init__(self, kernel: str = 'linear', C: float = 1.0, seed: int = 0,
                 clusters: int = 3) -> None:
        """Keep the settings of the machines and the number of clusters of a node."""
        super().__init__(seed)
        self.kernel, self.C, self.clusters = kernel, C, clusters
        self.guards: list[tuple[np.ndarray, Machine]] = []
        self.labels = 0

    def fit(self, X: Any, Y: np.ndarray) -> None:
        """Learn from samples and boolean indicators."""
        self.labels, self.guards = Y.shape[1], []
        waiting = [np.arange(self.labels)]
        while waiting:
            members = waiting.pop()
            rows = (np.arange(len(Y)) if members.size == self.labels
                    else np.flatnonzero(Y[:, members].any(axis=1)))
            for part in balanced_clusters(Y[:, members].T, self.clusters, self.seed):
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

    @classmethod
    def settings_for(cls, labels: int) -> tuple[dict[str, Any], ...]:
        """Return the machines worth trying."""
        return grid_for(labels)


def balanced_clusters(vectors: np.ndarray, clusters: int, seed: int) -> list[np.ndarray]:
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
