# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Support vector machines, and the baselines made of them."""

import numpy as np
import pytest

pytest.importorskip('sklearn')
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from toy_labels import make_data

from proemlc_ros.experiments.baselines.svm import (
    EnsembleOfChains,
    Hierarchy,
    Machine,
    QuickWeighted,
    _balanced_clusters,
    _quick_vote,
    distances,
)


def test_classifier_chain_uses_the_labels_before():
    """The second label is the exclusive or of the first and a feature: no plane alone has it."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.standard_normal(200), random.integers(0, 2, 200)])
    first = X[:, 0] > 0
    second = first ^ (X[:, 1] > 0)
    alone = Machine('linear').fit(X, second).predict(X)
    assert np.mean(alone == second) < 0.7
    chained = Machine('rbf', 10.0).fit(np.column_stack([X[:, 1], first]), second)
    assert np.mean(chained.predict(np.column_stack([X[:, 1], first])) == second) == 1.0


def test_machine_takes_a_single_class():
    X = np.eye(3)
    assert Machine().fit(X, [1, 1, 1]).predict(X).tolist() == [1, 1, 1]
    assert Machine().fit(X, [0, 0, 0]).predict(X).tolist() == [0, 0, 0]


def test_ecc_scores_are_votes():
    X, Y = make_data(40)
    ensemble = EnsembleOfChains(count=4)
    ensemble.fit(X, Y)
    votes = np.mean([chain.predict(X) for chain in ensemble.chains], axis=0)
    np.testing.assert_allclose(ensemble.scores(X), 2 * votes - 1)
    assert set(np.unique(votes)) <= {0, 0.25, 0.5, 0.75, 1}


@pytest.mark.parametrize('kernel', ['linear', 'rbf'])
def test_asking_machines_together_is_asking_each(kernel):
    X, Y = make_data(60)
    X = X * [1.0, 30.0, 1.0, 1.0] + [5.0, 0.0, 0.0, 0.0]
    machines = [Machine(kernel).fit(X, Y[:, 0]), Machine(kernel).fit(X, np.ones(len(X))),
                Machine(kernel).fit(X, Y[:, 1])]
    together = distances(machines, X)
    for column, machine in zip(together.T, machines, strict=True):
        np.testing.assert_allclose(column, machine.decision_function(X), atol=1e-12)


def test_a_linear_machine_is_the_scaled_one_of_scikit_learn():
    X, Y = make_data(60)
    X = X * [1.0, 30.0, 1.0, 1.0] + [5.0, 0.0, 0.0, 0.0]
    reference = make_pipeline(StandardScaler(), LinearSVC(C=0.5, random_state=0))
    expected = reference.fit(X, Y[:, 0]).decision_function(X)
    found = Machine('linear', 0.5).fit(X, Y[:, 0]).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_balanced_clusters_by_hand():
    """Five points in two heaps of three and two, though four lie together."""
    vectors = np.array([[0.0], [0.1], [0.2], [0.3], [9.0]])
    sizes = sorted(len(part) for part in _balanced_clusters(vectors, 2, seed=0))
    assert sizes == [2, 3]
    parts = _balanced_clusters(np.array([[0.0], [5.0], [0.1], [5.1]]), 2, seed=0)
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


def test_quick_vote_by_hand():
    """Players 0 > 1 > virtual (3) > 2, every duel consistent: 0 and 1 come before the virtual."""
    strength = [9, 5, 1, 3]
    asked = []

    def duel(first, second):
        asked.append((first, second))
        return strength[first] > strength[second]

    assert _quick_vote(4, duel) == [0, 1]
    assert len(asked) == len(set(asked)) <= 6


def test_quick_vote_equals_the_full_vote_of_the_pairs():
    X, Y = make_data(60)
    baseline = QuickWeighted()
    baseline.fit(X, Y)
    assert len(baseline.machines) == 3 + 3
    np.testing.assert_array_equal(baseline.predict(X), baseline.scores(X) > 0)


def test_a_pair_learns_from_samples_that_tell_its_labels_apart():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    Y = np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    baseline = QuickWeighted()
    baseline.fit(X, Y)
    assert baseline.machines[0, 1].decision_function(np.array([[0.0]]))[0] > 0
    assert baseline.machines[0, 1].decision_function(np.array([[2.0]]))[0] < 0
