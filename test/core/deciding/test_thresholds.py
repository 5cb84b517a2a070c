# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The decision rule: found from evidence, and the same however the evidence arrived."""

import numpy as np
import pytest

from proemlc_ros.core.deciding.thresholds import CANDIDATES, DecisionRule, best_choice
from proemlc_ros.core.prediction import Classification

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
    fewest = min(wrong for _, wrong in figures.values())
    eligible = [f1 for f1, wrong in figures.values() if wrong <= 1.01 * fewest + 1e-12]
    found = best_choice(scores, present, 'learnt_hamming')
    assert figures[found][0] == pytest.approx(max(eligible))


def test_least_errors_are_not_bought_with_silence():
    """Of rules that are equally often wrong, the one that names more is better."""
    present = np.eye(4, dtype=bool)[np.arange(100) % 4]
    scores = np.where(present, -0.4, -0.6)
    scores[::2] = scores[::2, ::-1]  # half of them are wrong: as many errors as naming nothing
    found = best_choice(scores, present, 'learnt_hamming')
    assert figures_of(found, scores, present)[0] >= 0.5
    assert best_choice(scores, present, 'learnt_hamming', at_least=0).at_least == 0


def test_it_notices_whether_no_label_is_normal():
    present = np.eye(4, dtype=bool)[RANDOM.integers(4, size=300)]
    unsure = np.where(present, -0.3, -0.6) + RANDOM.normal(scale=0.25, size=present.shape)
    assert best_choice(unsure, present).at_least == 1
    present[::2] = False
    unsure[::2] = -0.8 + RANDOM.normal(scale=0.1, size=unsure[::2].shape)
    assert best_choice(unsure, present).at_least == 0


def test_labels_not_yet_seen_are_never_predicted():
    scores = np.array([[-np.inf, -0.9], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(DecisionRule(0.0, 1).decide(scores),
                                  [[False, True], [False, False]])
    np.testing.assert_array_equal(DecisionRule(0.0, 0).decide(scores), np.zeros((2, 2)))
    assert DecisionRule(0.0, 1).decide(np.zeros((2, 0))).shape == (2, 0)


def test_an_offset_decides_again_and_keeps_the_rule_of_at_least_one():
    scores, names = np.array([0.4, -0.2, 0.1]), ('cup', 'plate', 'red')
    found = Classification(('cup', 'red'), scores, 0.5, names, 0.0, 0)
    assert found.with_offset(-0.3).labels == ('cup', 'red', 'plate')
    strict = found.with_offset(0.2)
    assert strict.labels == ('cup',) and strict.threshold == np.float32(0.2)
    assert found.with_offset(0.5).labels == ()
    assert found._replace(at_least=1).with_offset(0.5).labels == ('cup',)
