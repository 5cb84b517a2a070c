# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""QWML: the quick vote, and the pairs it asks."""

import numpy as np
import pytest
from toy_labels import make_data

pytest.importorskip('sklearn')

from proemlc_ros.experiments.baselines.qwml import QuickWeighted, quick_vote


def test_quick_vote_by_hand():
    """Players 0 > 1 > virtual (3) > 2, every duel consistent: 0 and 1 come before the virtual."""
    strength = [9, 5, 1, 3]
    asked = []

    def duel(first, second):
        asked.append((first, second))
        return strength[first] > strength[second]

    assert quick_vote(4, duel) == [0, 1]
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
