# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""HOMER: balanced clusters, and a path of machines to each label."""

import numpy as np
import pytest
from toy_labels import make_data

pytest.importorskip('sklearn')

from proemlc_ros.experiments.baselines.homer import Hierarchy, balanced_clusters


def test_balanced_clusters_by_hand():
    """Five points in two heaps of three and two, though four lie together."""
    vectors = np.array([[0.0], [0.1], [0.2], [0.3], [9.0]])
    sizes = sorted(len(part) for part in balanced_clusters(vectors, 2, seed=0))
    assert sizes == [2, 3]
    parts = balanced_clusters(np.array([[0.0], [5.0], [0.1], [5.1]]), 2, seed=0)
    assert sorted(sorted(part.tolist()) for part in parts) == [[0, 2], [1, 3]]


def test_homer_needs_every_guard_of_a_path():
    X, Y = make_data(80)
    Y = np.column_stack([Y, ~Y])
    baseline = Hierarchy(clusters=2)
    baseline.fit(X, Y)
    members = [set(part.tolist()) for part, _ in baseline.guards]
    assert all({label} in members for label in range(6))
    scores = baseline.scores(X[:1])[0]
    for label in range(6):
        path = [machine.decision_function(X[:1])[0] for part, machine in baseline.guards
                if label in part]
        assert len(path) >= 2 and scores[label] == pytest.approx(min(path))
