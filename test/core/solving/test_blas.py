# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""SciPy's compiled routines, called without the rest of SciPy."""

import numpy as np
import pytest

from proemlc_ros.core.solving import blas

RANDOM = np.random.default_rng(1)
FACTOR = np.tril(RANDOM.normal(size=(6, 6))) + 6 * np.eye(6)
MATRIX = FACTOR @ FACTOR.T


@pytest.mark.parametrize('dtype', ['float64', 'float32'])
@pytest.mark.parametrize('order', ['C', 'F'])
def test_factors_and_solutions_are_those_of_numpy(dtype, order):
    matrix, right = MATRIX.astype(dtype, order=order), RANDOM.normal(size=(6, 3)).astype(dtype)
    factor = blas.cholesky(matrix)
    assert factor.dtype == dtype
    precision = 1e-12 if dtype == 'float64' else 1e-5
    np.testing.assert_allclose(factor, FACTOR, rtol=precision, atol=precision)
    solved = blas.solve_lower(np.asarray(factor, order=order), right)
    np.testing.assert_allclose(FACTOR @ solved, right, rtol=precision, atol=precision)


def test_an_inverse_is_given_by_its_lower_triangle():
    np.testing.assert_allclose(blas.inverse(np.tril(MATRIX)), np.tril(np.linalg.inv(MATRIX)),
                               rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize('call', [
    lambda: blas.cholesky(-MATRIX), lambda: blas.inverse(-MATRIX),
    lambda: blas.solve_lower(np.zeros((2, 2)), np.ones(2))])
def test_what_has_no_solution_is_an_error(call):
    with pytest.raises(np.linalg.LinAlgError):
        call()


@pytest.mark.parametrize('name', ['blas', 'lapack'])
def test_a_scipy_that_is_laid_out_otherwise_is_imported_whole(monkeypatch, name):
    direct = blas.library(name)
    with monkeypatch.context() as patch:
        patch.setattr(blas, 'find_spec', lambda _: None)
        whole = blas.library.__wrapped__(name)
    routine = 'dsymv' if name == 'blas' else 'dpotrf'
    assert whole.__name__ == f'scipy.linalg.{name}' != direct.__name__
    assert getattr(whole, routine).__doc__ == getattr(direct, routine).__doc__
