# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The equations of the paper, transcribed literally, beside the learner."""

import numpy as np
import pytest
from core_reference import plain, samples, targets_of

from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.options import Options
from proemlc_ros.core.storage import container
from proemlc_ros.errors import InitialBlockError

X, ANNOTATIONS = samples(60)
NO_RIDGE = {'ridge': 0.0, 'activation': 'sigmoid', 'scaling': 'none', 'bias': False,
            'threshold': 'zero'}


class Paper:
    """Eqs 11-21 as printed: full matrices, inverses and all; h_k has one row per sample."""

    def __init__(self, H0, Y0):
        self.M = np.linalg.inv(H0.T @ H0)  # eq. 11
        self.beta = self.M @ H0.T @ Y0  # eq. 12
        self.h_k = H0

    def introduce(self, c):
        b = len(self.h_k)
        O = np.zeros((len(self.M), c))  # noqa: E741
        beta_tilde = np.hstack([self.beta, O])  # eqs 13-14
        J = np.ones((b, c))
        delta = np.hstack([np.zeros_like(self.beta), -self.M @ self.h_k.T @ J])  # eqs 15-17
        self.beta = beta_tilde + delta  # eqs 18-19

    def learn(self, h, Y):
        inner = np.linalg.inv(np.eye(len(h)) + h @ self.M @ h.T)
        self.M = self.M - self.M @ h.T @ inner @ h @ self.M  # eq. 20
        self.beta = self.beta + self.M @ h.T @ (Y - h @ self.beta)  # eq. 21
        self.h_k = h


@pytest.mark.parametrize('chunk', [1, 5])
def test_paper_recalibration_is_eqs_15_to_19(chunk):
    random = np.random.default_rng(2)
    X = random.normal(size=(70, 6))
    model = plain(recalibration='paper', hidden_size=10, **{**NO_RIDGE, 'ridge': 0.0})
    first = [('a',) if x[0] > 0 else ('b',) for x in X[:40]]
    model.learn_initial(X[:40], first)
    paper = Paper(model.hidden(X[:40]), targets_of(first, model.labels))
    for start in range(40, 70, chunk):
        rows = X[start:start + chunk]
        # Two labels at once, then a third.
        annotations = [('a', 'c', 'd') if start >= 50 else ('b',) for _ in rows]
        annotations[-1] = (*annotations[-1], 'e') if start >= 60 else annotations[-1]
        known = len(model.labels)
        new = model.learn(rows, annotations)
        if new:
            paper.introduce(len(new))
        assert len(model.labels) == known + len(new)
        paper.learn(model.hidden(rows), targets_of(annotations, model.labels))
        np.testing.assert_allclose(model.scores(X), model.hidden(X) @ paper.beta, atol=1e-8)
    assert model.labels[2:] == ['c', 'd', 'e']


def test_paper_recalibration_differs_from_the_exact_one():
    scores = []
    for recalibration in ('paper', 'exact'):
        model = plain(recalibration=recalibration)
        model.learn(X[:40], [('cup',)] * 40)
        model.learn(X[40:50], [('cup',)] * 10)
        model.learn(X[50:], [('new',)] * 10)
        scores.append(model.scores(X)[:, 1])
    assert np.abs(scores[0] - scores[1]).max() > 0.01


def test_without_ridge_the_initial_block_is_the_pseudo_inverse_solution():
    model = plain(hidden_size=20, **NO_RIDGE)
    model.learn_initial(X, ANNOTATIONS)
    H = model.hidden(X)
    expected = np.linalg.pinv(H) @ targets_of(ANNOTATIONS, model.labels)  # eq. 5
    np.testing.assert_allclose(model.scores(X), H @ expected, atol=1e-8)
    np.testing.assert_allclose(model.weights, expected, atol=1e-8)


@pytest.mark.parametrize('rows', [8, 60])
def test_a_rank_deficient_initial_block_is_solved_by_the_pseudo_inverse(rows):
    block = np.repeat(X[:8], 8, axis=0)[:rows]  # at most 8 different rows for 30 neurons
    annotations = [ANNOTATIONS[place // 8] for place in range(rows)]
    model = plain(hidden_size=30, **NO_RIDGE)
    model.learn_initial(block, annotations)
    H = model.hidden(block)
    beta = np.linalg.pinv(H) @ targets_of(annotations, model.labels)
    np.testing.assert_allclose(model.weights, beta, atol=1e-8)
    _, arrays = container.unpack(model.to_bytes())
    M = np.zeros((30, 30))
    M[np.triu_indices(30)] = arrays['matrix']  # one triangle is stored
    M += np.triu(M, 1).T
    np.testing.assert_allclose(M, np.linalg.pinv(H.T @ H), rtol=1e-6, atol=1e-6 * np.abs(M).max())


def test_without_ridge_and_without_initial_block_nothing_is_learnt():
    model = plain(**NO_RIDGE)
    with pytest.raises(InitialBlockError, match='call learn_initial'):
        model.learn(X[0], ['cup'])
    assert model.samples == 0
    assert model.labels == []


def test_the_initial_block_comes_first():
    model = plain()
    model.learn(X, ANNOTATIONS)
    with pytest.raises(InitialBlockError, match='60 samples have been learnt'):
        model.learn_initial(X, ANNOTATIONS)


def test_elm_is_eqs_1_to_5():
    elm = plain(hidden_size=15, seed=3, **NO_RIDGE)
    elm.learn_initial(X, ANNOTATIONS)
    layer = make_layer(Options(hidden_size=15, seed=3, activation='sigmoid', scaling='none'), 7,
                       None)
    W, b = layer.weights, layer.offset
    H = 1.0 / (1.0 + np.exp(-(X @ W + b)))  # g(w x + b)
    beta = np.linalg.inv(H.T @ H) @ H.T @ targets_of(ANNOTATIONS, elm.labels)
    np.testing.assert_allclose(elm.scores(X), H @ beta, atol=1e-7)
    signs = elm.scores(X) > 0
    assert [set(labels) for labels in elm.predict(X)] == [
        {name for name, shown in zip(elm.labels, row) if shown} for row in signs]


def test_oselm_is_eqs_6_to_9_and_ends_at_the_batch_solution():
    labels = sorted({name for annotation in ANNOTATIONS for name in annotation})
    oselm = plain(labels=labels, hidden_size=12, **NO_RIDGE)
    oselm.learn_initial(X[:30], ANNOTATIONS[:30])
    H, Y = oselm.hidden(X), targets_of(ANNOTATIONS, labels)
    M = np.linalg.inv(H[:30].T @ H[:30])  # eq. 6
    beta = M @ H[:30].T @ Y[:30]  # eq. 7
    for x, h, y, annotation in zip(X[30:], H[30:, :, None], Y[30:, :, None], ANNOTATIONS[30:]):
        M = M - M @ h @ h.T @ M / (1.0 + h.T @ M @ h)  # eq. 8
        beta = beta + M @ h @ (y.T - h.T @ beta)  # eq. 9
        oselm.learn(x, annotation)
        np.testing.assert_allclose(oselm.scores(X), H @ beta, atol=1e-7)
    elm = plain(labels=labels, hidden_size=12, **NO_RIDGE)
    elm.learn_initial(X, ANNOTATIONS)
    np.testing.assert_allclose(oselm.scores(X), elm.scores(X), atol=1e-6)
