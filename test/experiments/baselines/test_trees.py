# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Trees, forests, and ML-kNN by hand."""

import numpy as np
import pytest

pytest.importorskip('sklearn')
from toy_labels import make_data

from proemlc_ros.experiments.baselines import baseline_class
from proemlc_ros.experiments.baselines.trees import LabelNeighbours


def test_trees_split_where_it_helps_all_labels():
    """Feature 1 settles two labels, feature 0 one: the first split must be on feature 1."""
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 4, dtype=float)
    Y = np.column_stack([X[:, 1] > 0, X[:, 1] > 0, X[:, 0] > 0])
    for name in ('ML-C4.5', 'PCT'):
        baseline = baseline_class(name)(min_samples_leaf=1)
        baseline.fit(X, Y)
        assert baseline.estimator.tree_.feature[0] == 1
        np.testing.assert_array_equal(baseline.predict(X), Y)


def test_entropy_and_variance_of_a_root_by_hand():
    X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1, 0], [1, 0], [0, 0], [0, 1]])
    entropy_baseline, variance_baseline = (
        baseline_class(name)(min_samples_leaf=1) for name in ('ML-C4.5', 'PCT'))
    entropy_baseline.fit(X, Y)
    variance_baseline.fit(X, Y)
    quarter = -0.25 * np.log2(0.25) - 0.75 * np.log2(0.75)
    assert entropy_baseline.estimator.tree_.impurity[0] == pytest.approx((1.0 + quarter) / 2)
    assert variance_baseline.estimator.tree_.impurity[0] == pytest.approx((0.25 + 0.1875) / 2)


def test_forests_average_their_trees():
    X, Y = make_data(50)
    for name, share in (('RFML-C4.5', None), ('RF-PCT', 'predict')):
        baseline = baseline_class(name)()
        baseline.fit(X, Y)
        trees = baseline.estimator.estimators_
        if share:
            mean = np.mean([tree.predict(X) for tree in trees], axis=0)
        else:
            mean = np.mean([np.column_stack([part[:, 1] for part in tree.predict_proba(X)])
                            for tree in trees], axis=0)
        np.testing.assert_allclose(baseline.scores(X), 2 * mean - 1)


def test_ml_knn_by_hand():
    """Two heaps of three on a line, k = 2; the label is on all of the first heap."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    Y = np.array([[1], [1], [1], [0], [0], [0]], dtype=bool)
    baseline = LabelNeighbours(neighbours=2)
    baseline.fit(X, Y)
    assert baseline.prior[0] == pytest.approx((1 + 3) / (2 + 6))
    # All three with the label have two neighbours with it; all others have none.
    np.testing.assert_allclose(baseline.likelihoods[1][0], [1 / 6, 1 / 6, 4 / 6])
    np.testing.assert_allclose(baseline.likelihoods[0][0], [4 / 6, 1 / 6, 1 / 6])
    posterior = 0.5 * (4 / 6) / (0.5 * (4 / 6) + 0.5 * (1 / 6))
    assert baseline.scores(np.array([[0.5]]))[0, 0] == pytest.approx(2 * posterior - 1)
