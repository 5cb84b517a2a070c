# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ELM is the pseudo-inverse, and OS-ELM equals it."""

import numpy as np
from toy_labels import make_data

from proemlc_ros.experiments.baselines import baseline_class
from proemlc_ros.experiments.baselines.elm import BatchELM


def test_elm_is_the_pseudo_inverse():
    X, Y = make_data(60)
    baseline = BatchELM(hidden_size=10, seed=3)
    baseline.fit(X, Y)
    H = baseline.model.hidden(X)
    expected = H @ np.linalg.pinv(H) @ np.where(Y, 1.0, -1.0)
    np.testing.assert_allclose(baseline.scores(X), expected, atol=1e-8)


def test_os_elm_equals_elm():
    X, Y = make_data(80)
    batch, sequential = baseline_class('ELM')(2, 12), baseline_class('OS-ELM')(2, 12)
    batch.fit(X, Y)
    sequential.fit(X, Y)
    np.testing.assert_allclose(sequential.scores(X), batch.scores(X), atol=1e-6)


def test_a_second_fit_forgets_the_first():
    X, Y = make_data(60)
    twice, once = BatchELM(hidden_size=5), BatchELM(hidden_size=5)
    twice.fit(X[:30], ~Y[:30])
    for baseline in (twice, once):
        baseline.fit(X, Y)
    np.testing.assert_array_equal(twice.scores(X), once.scores(X))
