# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Support vector machines and chains of them."""

import numpy as np
import pytest
from toy_labels import make_data

pytest.importorskip('sklearn')

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from proemlc_ros.experiments.baselines.svm import EnsembleOfChains, Machine, distances


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
    ensemble = EnsembleOfChains(chains=4)
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
