# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From scores to labels: thresholds, expected F1, and what a model decides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from core_reference import samples
from hypothesis import given
from hypothesis import strategies as st

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.deciding.calibration import LeftOut
from proemlc_ros.core.deciding.decision import (
    CANDIDATES,
    DecisionRule,
    best_choice,
    best_set,
    best_sets,
    explain,
    fit_decision,
)
from proemlc_ros.core.metrics import ProbabilityMetrics
from proemlc_ros.core.prediction import Classification

RANDOM = np.random.default_rng(0)
RULES = ('zero', 'learnt', 'learnt_hamming', 'probable', 'expected_f1')
THINGS = 4.0 * RANDOM.normal(size=(31, 40))


def seen(thing, count=10):
    """Return pictures of a thing."""
    return THINGS[thing] + RANDOM.normal(size=(count, 40))


# ----- the first samples -----

def test_after_one_sample_that_thing_is_named_and_others_are_not():
    model = ProEMLC()
    model.learn(seen(0, 1)[0], ['cup'])
    assert model.predict(THINGS[0] + 0.1 * seen(1)) != [()] * 10
    assert model.predict(seen(0)) == [('cup',)] * 10
    assert model.predict(np.concatenate([seen(1), seen(2)])) == [()] * 20
    assert model.novelty(seen(0)).max() < model.novelty(seen(1)).min()


def test_one_sample_each_of_many_labels_names_all_of_them():
    for count in (10, 31):
        model = ProEMLC()
        for thing in range(count):
            model.learn(seen(thing, 1)[0], [f'thing {thing}'])
        for thing in range(count):
            assert model.predict(seen(thing, 3)) == [(f'thing {thing}',)] * 3


def test_three_things_three_times():
    model = ProEMLC()
    for _ in range(3):
        for thing in range(3):
            model.learn(seen(thing, 1)[0], [f'thing {thing}'])
    for thing in range(3):
        assert model.predict(seen(thing)) == [(f'thing {thing}',)] * 10


@pytest.mark.parametrize('rule', RULES)
def test_an_empty_scene_is_not_called_something(rule):
    model = ProEMLC(threshold=rule)
    for _ in range(3):
        model.learn(seen(0, 1)[0], ['thing'])
    for _ in range(3):
        model.learn(seen(1, 1)[0], [])
    assert model.predict(seen(1)) == [()] * 10
    assert model.predict(seen(0)) == [('thing',)] * 10


def test_a_sample_taught_twice_does_not_keep_the_decision_from_being_fitted():
    model = ProEMLC()
    for thing in (0, 1, 2):
        model.learn(seen(thing, 3), [[f'thing {thing}']] * 3)
    model.learn(THINGS[:2], [['thing 0'], ['thing 1']])
    before = model._state.learner.decision
    model.learn(THINGS[0], ['thing 0'])  # again
    model.learn(seen(2, 1)[0], [])
    after = model._state.learner.decision
    assert (before.empty, model._state.learner.decider.begun) == (0.0, 13)
    assert after.empty > 0.0


def test_a_few_samples_are_no_reason_to_name_many_labels():
    evidence = LeftOut(np.full((12, 6), -0.1), np.full((12, 6), -1, np.int8), np.ones(12),
                       np.ones(12))
    evidence.targets[np.arange(12), np.arange(12) % 6] = 1
    decision = fit_decision('expected_f1', evidence, np.full(6, 2, dtype=np.int64))
    decision = decision._replace(exclusive=False, empty=0.0)
    chances = np.array([[0.45, 0.4, 0.35, 0.3, 0.1, 0.1], [0.8, 0.7, 0.4, 0.3, 0.1, 0.1]])
    assert decision.decide(chances, chances).sum(axis=1).tolist() == [1, 2]
    assert [len(decision.columns(row, row)) for row in chances] == [1, 2]


@pytest.mark.parametrize(('chance', 'others', 'most'), [(0.35, 0.35, 0.02), (0.9, 0.25, 0.2)])
def test_left_out_samples_tell_whether_doubtful_labels_are_worth_their_errors(
        chance, others, most):
    random = np.random.default_rng(2)
    shown = random.random((600, 6)) < np.array([chance, *[others] * 5])
    scores = np.where(random.random((600, 6)) < 0.9, 0.0, np.where(shown, 0.4, -0.4))
    evidence = LeftOut(scores, np.where(shown, 1, -1).astype(np.int8), np.ones(600), np.ones(600))
    tolerance = fit_decision('expected_f1', evidence, shown.sum(axis=0)).tolerance
    # Equal chances: naming all of them is best. One that stands out: the others cost errors only.
    assert most - 0.06 < tolerance < most


def test_more_left_out_samples_tell_it_better():
    random = np.random.default_rng(2)
    shown = random.random((4000, 6)) < np.array([0.9, *[0.25] * 5])
    # Every eighth sample shows all of them, and these are the ones that a stream would look at.
    shown[::8] = True
    evidence = LeftOut(np.where(random.random((4000, 6)) < 0.9, 0.0, np.where(shown, 0.4, -0.4)),
                       np.where(shown, 1, -1).astype(np.int8), np.ones(4000), np.ones(4000))
    few, all_of_them = (fit_decision('expected_f1', evidence, shown.sum(axis=0), tried=tried)
                        for tried in (500, 4000))
    assert few.tolerance < 0.01
    assert all_of_them.tolerance > 0.1


# ----- any order -----

@pytest.mark.parametrize('rule', RULES)
def test_shuffled_sorted_merged_and_retrained_streams_decide_alike(rule):
    X, annotations = samples(400, labels=6, seed=3)
    annotations = [() if place % 3 == 0 else names for place, names in enumerate(annotations)]
    first = ProEMLC(hidden_size=60, activation='relu', scaling='none', threshold=rule)
    by_label = sorted(range(300), key=lambda place: (len(annotations[place]), annotations[place]))
    orders = [list(range(300)), by_label, by_label[::-1], RANDOM.permutation(300).tolist()]
    decided = []
    for order in orders:
        model = first.copy()
        model.learn(X[order], [annotations[place] for place in order])
        decided.append(model)
    halves = [first.copy(), first.copy()]
    for half, order in zip(halves, (by_label[:150], by_label[150:])):
        for place in order:
            half.learn(X[place], annotations[place])
    halves[0].merge(halves[1])
    stream = first.copy()
    for place in by_label:
        stream.learn(X[place], annotations[place])
    stream.fit_decision()
    expected = list(map(set, decided[0].predict(X[300:])))
    for model in (*decided, halves[0], stream):
        assert list(map(set, model.predict(X[300:]))) == expected


def test_undo_leaves_the_decision_without_the_sample():
    X, annotations = samples(12, labels=3, seed=4)
    model = ProEMLC(hidden_size=20, activation='relu', scaling='none')
    model.learn(X[:11], annotations[:11])
    before = model.probabilities(X)
    model.learn(X[11], annotations[11])
    model.unlearn(X[11], annotations[11])
    np.testing.assert_allclose(model.probabilities(X), before, atol=1e-6)


def test_a_fit_begun_before_saving_ends_as_it_would_have():
    X, annotations = samples(310, labels=5, seed=5)
    model = ProEMLC(hidden_size=40, activation='relu', scaling='none')
    for place in range(270):
        model.learn(X[place], annotations[place])
    assert model._state.learner.decider._work is not None  # in the middle of it
    loaded = ProEMLC.from_bytes(model.to_bytes())
    for place in range(270, 310):
        for twin in (model, loaded):
            twin.learn(X[place], annotations[place])
        np.testing.assert_array_equal(loaded.probabilities(X), model.probabilities(X))


# ----- probabilities -----

def test_probabilities_mean_what_they_say():
    chances = RANDOM.random((4000, 4)) ** 2
    present = RANDOM.random(chances.shape) < chances
    scores = (np.log(chances / (1.0 - chances)) - 1.0) / 4.0  # a curve of slope 4 and offset 1
    evidence = LeftOut(scores, np.where(present, 1, -1).astype(np.int8), np.ones(4000),
                       np.ones(4000))
    decision = fit_decision('expected_f1', evidence, present.sum(axis=0))
    np.testing.assert_allclose(decision.probabilities(scores), chances, atol=0.06)
    metrics = ProbabilityMetrics()
    metrics.add(decision.probabilities(scores), present)
    assert metrics.values()['calibration_error'] < 0.02


def test_few_samples_do_not_outweigh_the_prior():
    evidence = LeftOut(np.array([[-0.9], [0.9]]), np.array([[1], [-1]], np.int8), np.ones(2),
                       np.ones(2))
    decision = fit_decision('probable', evidence, np.array([5]))
    low, high = decision.probabilities(np.array([[-1.0], [1.0]]))[:, 0]
    assert low < 0.3 and high > 0.7


@pytest.mark.parametrize('rule', RULES)
def test_what_is_published_explains_what_is_predicted(rule):
    X, annotations = samples(80, labels=6, seed=6)
    model = ProEMLC(threshold=rule)
    for place in range(60):
        model.learn(X[place], annotations[place])
        for x in X[place:place + 3]:
            found = model.classify(x)
            assert found.by_probability == (rule in ('probable', 'expected_f1'))
            values = found.probabilities if found.by_probability else found.scores
            above = values.astype(np.float32) > np.float32(found.threshold)
            assert {found.names[column] for column in np.flatnonzero(above)} == set(found.labels)
            assert list(found.labels) == list(model.predict(x)[0])


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-12, 1.0]), min_size=1, max_size=6),
       st.integers(0, 6), st.floats(-1.0, 1.0))
def test_any_choice_of_the_best_can_be_explained(values, size, threshold):
    values = np.array(values)
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(-values, kind='stable')[:size]] = True
    shown, level = explain(values, chosen, threshold)
    np.testing.assert_array_equal(shown > np.float32(level), chosen)
    np.testing.assert_allclose(shown, values, atol=1e-6)


RANDOM_EXPECTED_F1 = np.random.default_rng(0)


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
    rows = RANDOM_EXPECTED_F1.random((25, 5)) * scale
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


RANDOM_THRESHOLDS = np.random.default_rng(0)


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
    present = RANDOM_THRESHOLDS.random((count, labels)) < 0.3
    present[RANDOM_THRESHOLDS.random(count) < empty] = False
    scores = np.where(present, 0.2, -0.7) + RANDOM_THRESHOLDS.normal(scale=0.4, size=present.shape)
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
    present = np.eye(4, dtype=bool)[RANDOM_THRESHOLDS.integers(4, size=300)]
    unsure = np.where(present, -0.3, -0.6) + RANDOM_THRESHOLDS.normal(
        scale=0.25, size=present.shape)
    assert best_choice(unsure, present).at_least == 1
    present[::2] = False
    unsure[::2] = -0.8 + RANDOM_THRESHOLDS.normal(scale=0.1, size=unsure[::2].shape)
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
