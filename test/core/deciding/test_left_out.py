# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Leave-one-out scores against real refits, for every size from one factorisation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.core.deciding.left_out import Centres, nested_fits
from proemlc_ros.errors import ParameterError


def ridge_solution(H, T, ridge):
    return np.linalg.solve(H.T @ H + ridge * np.eye(H.shape[1]), H.T @ T)


@settings(deadline=None, max_examples=25)
@given(samples=st.integers(2, 15), columns=st.integers(2, 12), labels=st.integers(1, 4),
       ridge=st.sampled_from([1e-3, 0.1, 1.0, 30.0]), seed=st.integers(0, 2**32 - 1))
def test_equal_to_real_refits(samples, columns, labels, ridge, seed):
    random = np.random.default_rng(seed)
    H = random.standard_normal((samples, columns))
    T = np.where(random.random((samples, labels)) < 0.4, 1.0, -1.0)
    sizes = sorted({1, columns // 2 or 1, columns})
    for size, fit in zip(sizes, nested_fits(H, T, ridge, sizes), strict=True):
        part = H[:, :size]
        assert fit.columns == size
        np.testing.assert_allclose(fit.fitted, part @ ridge_solution(part, T, ridge), atol=1e-8)
        for sample in range(samples):
            others = np.arange(samples) != sample
            without = part[sample] @ ridge_solution(part[others], T[others], ridge)
            np.testing.assert_allclose(fit.left_out[sample], without, atol=1e-8)


@pytest.mark.parametrize('sizes', [[3, 2], [0, 2], [5], [2, 2]])
def test_sizes_must_grow_within_the_columns(sizes):
    with pytest.raises(ParameterError, match='sizes'):
        list(nested_fits(np.ones((3, 4)), np.ones((3, 1)), 1.0, sizes))


def test_too_small_a_ridge_is_named():
    with pytest.raises(ParameterError, match='ridge of 0 is too small'):
        list(nested_fits(np.ones((3, 4)), np.ones((3, 1)), 0.0, [4]))


@settings(deadline=None, max_examples=25)
@given(samples=st.integers(4, 12), links=st.integers(0, 3), whitened=st.booleans(),
       ridge=st.sampled_from([0.01, 1.0]), seed=st.integers(0, 2**32 - 1))
def test_a_sample_is_left_out_together_with_the_neuron_around_it(samples, links, whitened, ridge,
                                                                 seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((samples, 3))
    kernel = np.exp(-0.5 * np.abs(X[:, np.newaxis] - X[np.newaxis]).sum(axis=2))
    leading = random.standard_normal((samples, links))
    chosen = random.permutation(samples)[:samples - 1]
    T = np.where(random.random((samples, 2)) < 0.5, 1.0, -1.0)

    def columns(neurons):
        """Return the hidden rows of a layer around these samples."""
        answers = kernel[:, neurons]
        if whitened and len(neurons):
            factor = np.linalg.cholesky(kernel[np.ix_(neurons, neurons)])
            answers = np.linalg.solve(factor, answers.T).T
        return np.hstack([leading, answers])

    whitener = None
    if whitened:
        whitener = np.linalg.inv(np.linalg.cholesky(kernel[np.ix_(chosen, chosen)]))
    sizes = [links + 2, links + len(chosen)]
    fits = nested_fits(columns(chosen), T, ridge, sizes, centres=Centres(links, chosen, whitener))
    for size, fit in zip(sizes, fits, strict=True):
        for sample in range(samples):
            neurons = chosen[:size - links]
            H = columns(neurons[neurons != sample])
            others = np.arange(samples) != sample
            without = H[sample] @ ridge_solution(H[others], T[others], ridge)
            np.testing.assert_allclose(fit.left_out[sample], without, atol=1e-8)
