# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Measures over a stream, against scikit-learn's and against counting by hand."""

import numpy as np
import pytest

from proemlc_ros.classifier.prequential import RollingHamming
from proemlc_ros.classifier.records import Annotation
from proemlc_ros.evaluation.curve import LossCurve
from proemlc_ros.evaluation.outcomes import JudgedLabels, OutcomeTally

NAMES = ('cup', 'red', 'robot', 'wall')


def names_of(row):
    return tuple(name for name, there in zip(NAMES, row, strict=True) if there)


def test_measures_are_scikit_learns():
    metrics = pytest.importorskip('sklearn.metrics')
    rng = np.random.default_rng(1)
    truth, guess = rng.random((200, 4)) < 0.3, rng.random((200, 4)) < 0.4
    tally = OutcomeTally()
    for row, other in zip(truth, guess, strict=True):
        tally.add(names_of(other), Annotation(1, names_of(row)), NAMES, 1)
    found = tally.metrics()
    assert found['hamming'] == pytest.approx(metrics.hamming_loss(truth, guess))
    assert found['subset_accuracy'] == pytest.approx(metrics.accuracy_score(truth, guess))
    assert found['micro_f1'] == pytest.approx(metrics.f1_score(truth, guess, average='micro'))
    assert found['macro_f1'] == pytest.approx(metrics.f1_score(truth, guess, average='macro'))
    some = truth.any(axis=1) & guess.any(axis=1)
    tally = OutcomeTally()
    for row, other in zip(truth[some], guess[some], strict=True):
        tally.add(names_of(other), Annotation(1, names_of(row)), NAMES, 1)
    for name, score in (('f1', metrics.f1_score), ('precision', metrics.precision_score),
                        ('recall', metrics.recall_score), ('accuracy', metrics.jaccard_score)):
        expected = score(truth[some], guess[some], average='samples')
        assert tally.metrics()[name] == pytest.approx(expected)
    for name, column in zip(NAMES, range(4), strict=True):
        assert tally.labels[name].support == truth[some][:, column].sum()
        assert tally.labels[name].f1 == pytest.approx(
            metrics.f1_score(truth[some][:, column], guess[some][:, column]))


def test_the_loss_is_the_nodes_own_over_all_kinds_of_annotations():
    rng = np.random.default_rng(2)
    tally, rolling, known = OutcomeTally(), RollingHamming(1000), {}
    for _ in range(300):
        chosen = rng.permutation(NAMES)
        said = Annotation(1, tuple(chosen[:rng.integers(3)]), tuple(chosen[3:]),
                          complete=bool(rng.integers(2)))
        guess = tuple(name for name in known if rng.random() < 0.5)
        tally.add(guess, said, known, 1)
        rolling.add(guess, said, known)
        known.update(dict.fromkeys(said.labels))
    assert tally.metrics()['hamming'] == pytest.approx(rolling.loss, abs=1e-12)


def test_groups_of_samples_do_not_matter():
    rng = np.random.default_rng(4)
    truth = [names_of(row) for row in rng.random((100, 4)) < 0.3]
    guess = [names_of(row) for row in rng.random((100, 4)) < 0.4]
    questions = [JudgedLabels(frozenset(NAMES[:2]), 2) if number % 3 == 0 else JudgedLabels(None, 4)
                 for number in range(100)]
    tallies = []
    for size in (1, 7, 100):
        tallies.append(OutcomeTally())
        for start in range(0, 100, size):
            part = slice(start, start + size)
            tallies[-1].add_all(guess[part], truth[part], questions[part], range(100)[part])
    for tally in tallies[1:]:
        assert tally.metrics() == tallies[0].metrics()
        assert tally.labels == tallies[0].labels
        assert tally.curve.points() == tallies[0].curve.points()


def test_first_appearance_and_confusion():
    tally = OutcomeTally()
    tally.add((), Annotation(1, ('cup',)), {}, 10)
    tally.add(('cup',), Annotation(1, ('robot',)), {'cup': 1}, 20)
    tally.add(('cup', 'robot'), Annotation(1, ('robot',)), {'cup': 1, 'robot': 1}, 30)
    robot = tally.labels['robot']
    assert (robot.first_sample, robot.first_time) == (2, 20)
    assert robot.mistaken_for == {'cup': 1}
    assert (robot.hits, robot.misses, robot.support) == (1, 1, 2)
    assert tally.labels['cup'].precision == 0
    # 1 of 1 wrong (a label nobody knew), then 2 of 2, then 1 of 2
    assert tally.metrics()['hamming'] == pytest.approx(4 / 5)


def test_nothing_was_said():
    assert OutcomeTally().metrics() == {} and LossCurve().loss is None


def test_a_long_curve_keeps_its_sums_and_stays_short():
    rng = np.random.default_rng(3)
    wrong = rng.integers(0, 5, 10_001)
    curve = LossCurve()
    for part in np.split(wrong, [1, 2, 700, 4000]):
        curve.add_all(part.tolist(), [4] * len(part))
    points = curve.points()
    assert len(points) <= 1024
    assert points[-1][0] == 10_001
    assert points[-1][2] == pytest.approx(wrong.sum() / 40_004)
    number, part, _ = points[0]
    assert part == pytest.approx(wrong[:number].sum() / (4 * number))
