# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The rivals: a small case worked by hand for each, and one contract for all."""

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip('sklearn')

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from proemlc_ros.experiments.baselines import MODULES, rival_class
from proemlc_ros.experiments.baselines.ecc import EnsembleOfChains
from proemlc_ros.experiments.baselines.elm import BatchELM
from proemlc_ros.experiments.baselines.homer import Hierarchy, balanced_clusters
from proemlc_ros.experiments.baselines.ml_knn import LabelNeighbours
from proemlc_ros.experiments.baselines.qwml import QuickWeighted, quick_vote
from proemlc_ros.experiments.baselines.svm import Machine, distances


def make_data(samples=90, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((samples, 4))
    return X, np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0, X[:, 2] > 0.5])


@pytest.mark.parametrize('name', MODULES)
@pytest.mark.parametrize('form', [np.asarray, sparse.csr_matrix])
def test_every_rival_learns_something_and_says_where_it_comes_from(name, form):
    kind = rival_class(name)
    X, Y = make_data()
    fresh, truth = make_data(60, seed=1)
    settings = kind.settings_for(3)[0]
    if 'hidden_size' in settings:
        settings = {'hidden_size': 25}
    rival = kind(**settings, seed=1)
    rival.fit(form(X), Y)
    scores = rival.scores(form(fresh))
    assert scores.shape == truth.shape and np.isfinite(scores).all()
    predicted = rival.predict(form(fresh))
    assert predicted.dtype == bool
    assert np.mean(predicted != truth) < 0.7 * np.mean(truth)  # naming nothing errs by the mean
    assert len(kind.reference) > 20 and kind.category


@pytest.mark.parametrize('name', MODULES)
def test_a_label_without_samples_does_no_harm(name):
    X, Y = make_data(60)
    Y = np.column_stack([Y, np.zeros(60, bool)])
    kind = rival_class(name)
    settings = {'hidden_size': 25} if 'hidden_size' in kind.settings_for(4)[0] else {}
    rival = kind(**settings)
    rival.fit(X, Y)
    assert not rival.predict(X)[:, 3].any()


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


def test_quick_vote_by_hand():
    """Players 0 > 1 > virtual (3) > 2, every duel consistent: 0 and 1 come before the virtual."""
    strength = [9, 5, 1, 3]
    asked = []

    def duel(first, second):
        asked.append((first, second))
        return strength[first] > strength[second]

    assert quick_vote(4, duel) == [0, 1]
    assert len(asked) == len(set(asked)) <= 6


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


def test_quick_vote_equals_the_full_vote_of_the_pairs():
    X, Y = make_data(60)
    rival = QuickWeighted()
    rival.fit(X, Y)
    assert len(rival.machines) == 3 + 3
    np.testing.assert_array_equal(rival.predict(X), rival.scores(X) > 0)


def test_a_pair_learns_from_samples_that_tell_its_labels_apart():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    Y = np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    rival = QuickWeighted()
    rival.fit(X, Y)
    assert rival.machines[0, 1].decision_function(np.array([[0.0]]))[0] > 0
    assert rival.machines[0, 1].decision_function(np.array([[2.0]]))[0] < 0


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
    rival = Hierarchy(clusters=2)
    rival.fit(X, Y)
    members = [set(part.tolist()) for part, _ in rival.guards]
    assert all({label} in members for label in range(6))
    scores = rival.scores(X[:1])[0]
    for label in range(6):
        path = [machine.decision_function(X[:1])[0] for part, machine in rival.guards
                if label in part]
        assert len(path) >= 2 and scores[label] == pytest.approx(min(path))


def test_trees_split_where_it_helps_all_labels():
    """Feature 1 settles two labels, feature 0 one: the first split must be on feature 1."""
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 4, dtype=float)
    Y = np.column_stack([X[:, 1] > 0, X[:, 1] > 0, X[:, 0] > 0])
    for name in ('ML-C4.5', 'PCT'):
        rival = rival_class(name)(min_samples_leaf=1)
        rival.fit(X, Y)
        assert rival.tree.tree_.feature[0] == 1
        np.testing.assert_array_equal(rival.predict(X), Y)


def test_entropy_and_variance_of_a_root_by_hand():
    X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1, 0], [1, 0], [0, 0], [0, 1]])
    entropy_rival, variance_rival = (rival_class(name)(min_samples_leaf=1)
                                     for name in ('ML-C4.5', 'PCT'))
    entropy_rival.fit(X, Y)
    variance_rival.fit(X, Y)
    quarter = -0.25 * np.log2(0.25) - 0.75 * np.log2(0.75)
    assert entropy_rival.tree.tree_.impurity[0] == pytest.approx((1.0 + quarter) / 2)
    assert variance_rival.tree.tree_.impurity[0] == pytest.approx((0.25 + 0.1875) / 2)


def test_forests_average_their_trees():
    X, Y = make_data(50)
    for name, share in (('RFML-C4.5', None), ('RF-PCT', 'predict')):
        rival = rival_class(name)()
        rival.fit(X, Y)
        trees = rival.forest.estimators_
        if share:
            mean = np.mean([tree.predict(X) for tree in trees], axis=0)
        else:
            mean = np.mean([np.column_stack([part[:, 1] for part in tree.predict_proba(X)])
                            for tree in trees], axis=0)
        np.testing.assert_allclose(rival.scores(X), 2 * mean - 1)


def test_ml_knn_by_hand():
    """Two heaps of three on a line, k = 2; the label is on all of the first heap."""
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    Y = np.array([[1], [1], [1], [0], [0], [0]], dtype=bool)
    rival = LabelNeighbours(neighbours=2)
    rival.fit(X, Y)
    assert rival.prior[0] == pytest.approx((1 + 3) / (2 + 6))
    # All three with the label have two neighbours with it; all others have none.
    np.testing.assert_allclose(rival.likelihoods[1][0], [1 / 6, 1 / 6, 4 / 6])
    np.testing.assert_allclose(rival.likelihoods[0][0], [4 / 6, 1 / 6, 1 / 6])
    posterior = 0.5 * (4 / 6) / (0.5 * (4 / 6) + 0.5 * (1 / 6))
    assert rival.scores(np.array([[0.5]]))[0, 0] == pytest.approx(2 * posterior - 1)


def test_elm_is_the_pseudo_inverse():
    X, Y = make_data(60)
    rival = BatchELM(hidden_size=10, seed=3)
    rival.fit(X, Y)
    H = rival.elm._model.hidden(X)
    expected = H @ np.linalg.pinv(H) @ np.where(Y, 1.0, -1.0)
    np.testing.assert_allclose(rival.scores(X), expected, atol=1e-8)


def test_os_elm_equals_elm():
    X, Y = make_data(80)
    batch, sequential = rival_class('ELM')(12, seed=2), rival_class('OS-ELM')(12, seed=2)
    batch.fit(X, Y)
    sequential.fit(X, Y)
    np.testing.assert_allclose(sequential.scores(X), batch.scores(X), atol=1e-6)
