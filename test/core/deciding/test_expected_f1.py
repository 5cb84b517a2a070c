# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The set of labels with the greatest expected F1, against trying all sets."""

from itertools import product

import numpy as np
import pytest

from proemlc_ros.core.deciding.expected_f1 import best_set, best_sets

RANDOM = np.random.default_rng(0)


def expected_f1(chosen, probabilities):
    total = 0.0
    for shown in product([False, True], repeat=len(probabilities)):
        shown = np.array(shown)
        chance = np.where(shown, probabilities, 1.0 - probabilities).prod()
        size = chosen.sum() + shown.sum()
        total += chance * (2.0 * (chosen & shown).sum() / size if size else 1.0)
    return total


def by_hand(probabilities):
    sets = [np.array(chosen) for chosen in product([False, True], repeat=len(probabilities))]
    return max(expected_f1(chosen, probabilities) for chosen in sets)


@pytest.mark.parametrize('scale', [0.1, 0.5, 1.0])
def test_no_set_is_better(scale):
    rows = RANDOM.random((25, 5)) * scale
    chosen = best_sets(rows, 1.0)
    for row, mask in zip(rows, chosen):
        assert expected_f1(mask, row) == pytest.approx(by_hand(row), abs=2e-3)
        assert set(best_set(row, 1.0)) == set(np.flatnonzero(mask))


def test_without_empty_samples_a_label_is_always_predicted():
    rows = np.full((3, 4), 0.01)
    assert (best_sets(rows, 0.0).sum(axis=1) >= 1).all()
    assert not best_sets(rows, 1.0).any() and best_set(rows[0], 1.0) == []
    assert best_set(np.zeros(4), 0.0) == []  # labels that no sample has shown


def test_labels_that_exclude_each_other_are_not_named_together():
    row = np.array([0.6, 0.25, 0.2, 0.2])
    assert best_set(row, 0.0, exclusive=True) == [0]
    assert np.flatnonzero(best_sets(row[np.newaxis], 0.0, exclusive=True)).tolist() == [0]


def test_more_labels_than_are_tried_are_all_found():
    row = np.full(70, 0.99)
    assert len(best_set(row, 0.0)) == best_sets(row[np.newaxis], 0.0).sum() == 70


@pytest.mark.parametrize('count', [1, 3, 30])
def test_tolerance_never_drops_what_is_likelier_than_not(count):
    """A label likelier than not makes fewer errors where it is named, not more."""
    probabilities = np.concatenate([np.full(count, 0.8), np.full(10, 0.1)])
    assert sorted(best_set(probabilities, 0.0, tolerance=0.25)) == list(range(count))
    rows = best_sets(probabilities[np.newaxis], 0.0, tolerance=0.25)
    assert rows[0].nonzero()[0].tolist() == list(range(count))
