# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ML-kNN, by hand."""

import numpy as np
import pytest

pytest.importorskip('sklearn')

from proemlc_ros.experiments.baselines.ml_knn import LabelNeighbours


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
