# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse rows are learnt as they are."""

import numpy as np
import pytest
from core_reference import plain, samples
from scipy import sparse

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import SCALINGS
from proemlc_ros.errors import EmptyInputError, InputError, NotFiniteError, WidthError

KINDS = [{'activation': 'relu'}, {'activation': 'relu', 'direct_links': True, 'scaling': 'l2'},
         {'activation': 'relu', 'scaling': 'standard', 'warmup': 30},
         {'activation': 'rbf', 'scaling': 'l2'},
         {'activation': 'laplacian', 'scaling': 'none', 'warmup': 30},
         {'activation': 'laplacian', 'scaling': 'minmax', 'warmup': 30},
         {'activation': 'laplacian', 'scaling': 'asinh', 'warmup': 30},
         {'activation': 'rbf', 'scaling': 'rank', 'warmup': 30},
         {'activation': 'relu', 'scaling': 'rank', 'warmup': 30},
         {'activation': 'kernel_sum', 'warmup': 30}]


@pytest.fixture
def never_dense(monkeypatch):
    """Make every way to densify a sparse matrix fail."""
    def reject(*_, **__):
        raise AssertionError('a sparse matrix was made dense')

    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix):
        for name in ('toarray', 'todense'):
            monkeypatch.setattr(kind, name, reject)


@pytest.mark.parametrize('settings', KINDS)
@pytest.mark.parametrize('form', [sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix])
def test_sparse_equals_dense_and_is_never_made_dense(settings, form, never_dense):
    X, annotations = samples(80)
    X[X < 0.4] = 0.0
    dense, thin = plain(**settings), plain(**settings)
    dense.learn(X, annotations)
    S = form(X)
    thin.learn(S, annotations)
    np.testing.assert_allclose(thin.scores(S), dense.scores(X), atol=1e-8)
    np.testing.assert_allclose(thin.novelty(S), dense.novelty(X), atol=1e-8)
    assert thin.predict(S) == dense.predict(X)
    thin.test_then_train(S, annotations)
    thin.unlearn(S, annotations)
    np.testing.assert_allclose(thin.scores(S), dense.scores(X), atol=1e-8)


def test_memory_follows_the_stored_values_not_the_width():
    random = np.random.default_rng(0)
    places = np.repeat(np.arange(200), 5), random.integers(300_000, size=1000)
    wide = sparse.csr_matrix((random.normal(size=1000), places), shape=(200, 300_000))
    model = ProEMLC(hidden_size=3, activation='relu', scaling='none')
    model.learn(wide, [('a',)] * 200)  # dense, these rows would take 480 MB
    assert model.scores(wide).shape == (200, 1)
    assert model.memory_bytes < 50e6


def test_dense_and_sparse_samples_mix_during_the_warm_up_and_in_undo():
    X, annotations = samples(40)
    X[X < 0.4] = 0.0
    mixed, dense = (plain(activation='rbf', warmup=35) for _ in range(2))
    mixed.learn(sparse.csr_matrix(X[:20]), annotations[:20])
    mixed.learn(X[20:], annotations[20:])
    mixed.unlearn(X[3], annotations[3])  # learnt as sparse
    mixed.unlearn(sparse.csr_matrix(X[30:31]), [annotations[30]])  # learnt as dense
    dense.learn(X, annotations)
    dense.unlearn(X[[3, 30]], [annotations[3], annotations[30]])
    np.testing.assert_allclose(mixed.scores(X), dense.scores(X), atol=1e-8)


def test_the_callers_matrix_is_left_alone():
    repeated = sparse.csr_matrix((np.ones(3), ([0, 0, 1], [1, 1, 2])), shape=(2, 7))
    repeated.has_canonical_format = False
    before = repeated.copy()
    model = plain()
    model.learn(repeated, [('a',), ()])
    assert (repeated != before).nnz == 0
    np.testing.assert_allclose(model.scores(repeated), model.scores(repeated.toarray()))


@pytest.mark.parametrize(('matrix', 'error'), [
    (sparse.csr_matrix((0, 7)), EmptyInputError), (sparse.csr_matrix((2, 0)), EmptyInputError),
    (sparse.csr_matrix((2, 6)), WidthError),
    (sparse.csr_matrix(np.array([[np.nan] * 7])), NotFiniteError),
    (sparse.csr_matrix(np.array([[1j] * 7])), InputError)])
def test_bad_sparse_input_is_rejected(matrix, error):
    model = plain(width=7)
    with pytest.raises(error):
        model.learn(matrix, [()] * matrix.shape[0])
    assert model.samples == 0


@pytest.mark.parametrize('scaling', SCALINGS)
def test_rows_of_zeros_and_ones_equal_dense_ones(scaling):
    X, annotations = samples(80)
    X = (X > 0.5).astype(float)
    dense, thin = (plain(activation='laplacian', scaling=scaling, warmup=30) for _ in range(2))
    dense.learn(X, annotations)
    thin.learn(sparse.csr_matrix(X), annotations)
    mixed = X.copy()
    mixed[0, 0] = 0.5
    for rows in (X, mixed):
        np.testing.assert_allclose(thin.scores(sparse.csr_matrix(rows)), dense.scores(rows),
                                   atol=1e-9)
