# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The decision rule: found from evidence, and the same however the evidence arrived."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.core.prediction import Classification
from proemlc_ros.core.thresholds import CANDIDATES, DecisionRule, Thresholds, best_choice

RANDOM = np.random.default_rng(0)


def figures_of(choice, scores, present):
    """Return the mean F1 and the mean number of wrong labels, sample by sample."""
    decided = choice.decide(scores)
    f1, wrong = [], []
    for chosen, shown in zip(decided, present):
        total = chosen.sum() + shown.sum()
        f1.append(2.0 * (chosen & shown).sum() / total if total else 1.0)
        wrong.append((chosen != shown).sum())
    return np.mean(f1), np.mean(wrong)


def evidence(count=200, labels=5, empty=0.3):
    present = RANDOM.random((count, labels)) < 0.3
    present[RANDOM.random(count) < empty] = False
    scores = np.where(present, 0.2, -0.7) + RANDOM.normal(scale=0.4, size=present.shape)
    return scores, present


def figures_of_all(scores, present):
    return {DecisionRule(float(threshold), at_least):
            figures_of(DecisionRule(threshold, at_least), scores, present)
            for threshold in CANDIDATES for at_least in (0, 1)}


@pytest.mark.parametrize('empty', [0.0, 0.5])
def test_the_best_of_all_candidates_is_found(empty):
    scores, present = evidence(empty=empty)
    figures = figures_of_all(scores, present)
    best_f1 = max(f1 for f1, _ in figures.values())
    eligible = [wrong for f1, wrong in figures.values() if f1 >= 0.99 * best_f1 - 1e-12]
    assert figures[best_choice(scores, present)][1] == pytest.approx(min(eligible))
    alike = best_choice(scores, present).at_least
    fewest = {at_least: min(wrong for choice, (_, wrong) in figures.items()
                            if choice.at_least == at_least) for at_least in (0, 1)}
    found = best_choice(scores, present, 'learnt_hamming')
    assert found.at_least == (alike if fewest[alike] <= 1.1 * fewest[1 - alike] else 1 - alike)
    assert figures[found][1] == pytest.approx(fewest[found.at_least])


def one_label_a_sample(right):
    """Return scores of 100 samples with one label each, which so many of them rank first.

    The scores of a sample lie close together at a height that tells nothing, so that a threshold
    names all of its labels or none.
    """
    labels = np.arange(100) % 20
    present = np.eye(20, dtype=bool)[labels]
    scores = np.where(present, 0.0, -0.01)
    scores[np.arange(100), (labels + 1) % 20] = np.where(np.arange(100) < right, -0.005, 0.005)
    return scores + np.linspace(-0.9, 0.9, 100)[:, np.newaxis], present


@pytest.mark.parametrize(('right', 'at_least', 'named'), [(48, 1, 1.0), (30, 0, 0.0)])
def test_least_errors_name_a_label_unless_that_is_clearly_more_often_wrong(right, at_least, named):
    """A forced label is wrong twice or right: 104 errors are nearly the 100 of silence."""
    scores, present = one_label_a_sample(right)
    assert figures_of(DecisionRule(1.0, 1), scores, present) == (right / 100, 2.0 - right / 50)
    assert figures_of(DecisionRule(1.0, 0), scores, present) == (0.0, 1.0)
    assert best_choice(scores, present).at_least == 1
    found = best_choice(scores, present, 'learnt_hamming')
    assert found.at_least == at_least
    assert found.decide(scores).sum(axis=1).mean() == named


def test_it_notices_whether_no_label_is_normal():
    present = np.eye(4, dtype=bool)[RANDOM.integers(4, size=300)]
    unsure = np.where(present, -0.3, -0.6) + RANDOM.normal(scale=0.25, size=present.shape)
    assert best_choice(unsure, present).at_least == 1
    present[::2] = False
    unsure[::2] = -0.8 + RANDOM.normal(scale=0.1, size=unsure[::2].shape)
    assert best_choice(unsure, present).at_least == 0


def test_a_stream_finds_the_same_as_all_at_once():
    scores, present = evidence(count=32 * 9)
    thresholds = Thresholds('learnt')
    for row, shown in zip(scores, present):
        thresholds.observe(row, shown)
    assert thresholds.choice == best_choice(scores, present)


def test_zero_stays_zero():
    thresholds = Thresholds('zero')
    for row, shown in zip(*evidence()):
        thresholds.observe(row, shown)
    thresholds.take_back(row, shown)
    assert thresholds.choice == DecisionRule(0.0, 0)


def test_without_evidence_the_best_label_is_named():
    thresholds = Thresholds('learnt')
    assert thresholds.choice == DecisionRule(0.0, 1)
    for _ in range(9):
        thresholds.observe(np.array([-0.5]), np.array([True]))
    assert thresholds.choice == DecisionRule(0.0, 1)
    thresholds.observe(np.array([-0.5]), np.array([True]))
    assert thresholds.choice.threshold < -0.5


def test_labels_not_yet_seen_are_never_predicted():
    scores = np.array([[-np.inf, -0.9], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(DecisionRule(0.0, 1).decide(scores),
                                  [[False, True], [False, False]])
    np.testing.assert_array_equal(DecisionRule(0.0, 0).decide(scores), np.zeros((2, 2)))
    assert DecisionRule(0.0, 1).decide(np.zeros((2, 0))).shape == (2, 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 150), st.integers(1, 60), st.sampled_from([1.0, 0.97]))
def test_taking_back_restores_the_evidence(count, more, forgetting):
    scores, present = evidence(count=count + more)
    thresholds = Thresholds('learnt', forgetting)
    for row, shown in zip(scores[:count], present):
        thresholds.observe(row, shown)
    thresholds.choose()
    before = thresholds.arrays()
    for row, shown in zip(scores[count:], present[count:]):
        thresholds.observe(row, shown)
    for row, shown in zip(scores[:count - 1 if count else None:-1], present[::-1]):
        thresholds.take_back(row, shown)
    for name in ('gain', 'errors'):
        np.testing.assert_allclose(thresholds.arrays()[name], before[name], atol=1e-6)
    np.testing.assert_allclose(thresholds.arrays()['numbers'][:2], before['numbers'][:2],
                               atol=1e-6)


def test_forgetting_follows_the_newest():
    thresholds = Thresholds('learnt', 0.9)
    for level in (-0.5, 0.5):
        for _ in range(320):
            thresholds.observe(np.array([level + 0.2, level - 0.2]), np.array([True, False]))
    assert 0.3 <= thresholds.choice.threshold < 0.7


def test_merged_evidence_adds_up():
    scores, present = evidence(count=64)
    parts = [Thresholds('learnt') for _ in range(2)]
    for place, (row, shown) in enumerate(zip(scores, present)):
        parts[place % 2].observe(row, shown)
    parts[0].merge(parts[1])
    assert parts[0].choice == best_choice(scores, present)


def test_a_copy_is_independent_even_of_pending_evidence():
    scores, present = evidence(count=90)
    thresholds = Thresholds('learnt')
    for row, shown in zip(scores[:80], present):
        thresholds.observe(row, shown)
    twin = thresholds.copy()
    for row, shown in zip(scores[80:], present[80:]):
        thresholds.observe(row, shown)
        twin.observe(np.append(row, 0.0), np.append(shown, True))  # a label more
    thresholds.choose(), twin.choose()
    assert thresholds.samples == twin.samples == 90
    assert not np.array_equal(thresholds.gain, twin.gain)


def test_an_offset_decides_again_and_keeps_the_rule_of_at_least_one():
    scores, names = np.array([0.4, -0.2, 0.1]), ('cup', 'plate', 'red')
    found = Classification(('cup', 'red'), scores, 0.5, names, 0.0, 0)
    assert found.with_offset(-0.3).labels == ('cup', 'red', 'plate')
    strict = found.with_offset(0.2)
    assert strict.labels == ('cup',) and strict.threshold == 0.2
    assert found.with_offset(0.5).labels == ()
    assert found._replace(at_least=1).with_offset(0.5).labels == ('cup',)
