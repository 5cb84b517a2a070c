# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of decisions against the same in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proemlc_ros.core.deciding import calibration, decision
from proemlc_ros.core.deciding.calibration import (
    Calibration,
    LeftOut,
    fit_calibration,
    plain_curves,
)
from proemlc_ros.core.deciding.expected_f1 import (
    best_set,
    best_sets,
    plain_sets,
    plain_tries,
    try_tolerances,
)

compiled = pytest.importorskip('proemlc_ros.core.deciding._decisions')

# Values at the limits: never shown, the least that is tried, as likely as not, sure; and ties.
CHANCES = st.one_of(st.sampled_from([0.0, 0.0039, 0.004, 0.25, 0.5, 0.75, 1.0]),
                    st.floats(0.0, 1.0), st.floats(0.0, 0.02))
RULES = st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.booleans(),
                  st.sampled_from([0.0, 0.07, 0.27]))


@given(st.lists(CHANCES, min_size=1, max_size=70), RULES)
def test_sets_are_the_plain_ones(chances, rule):
    row = np.array(chances)
    plain = plain_sets(row[np.newaxis], *rule)
    np.testing.assert_array_equal(best_sets(row[np.newaxis], *rule), plain)
    columns = best_set(row, *rule)
    assert sorted(columns) == np.flatnonzero(plain[0]).tolist()


@pytest.mark.parametrize('labels', [1, 6, 50, 400])
@pytest.mark.parametrize('exclusive', [False, True])
def test_many_rows_have_the_plain_sets(labels, exclusive):
    random = np.random.default_rng(labels)
    rows = random.random((300, labels)) ** random.integers(1, 9, (300, 1))
    for tolerance in (0.0, 0.1):
        plain = plain_sets(rows, 0.4, exclusive, tolerance)
        np.testing.assert_array_equal(best_sets(rows, 0.4, exclusive, tolerance), plain)
        np.testing.assert_array_equal(best_sets(rows[::2], 0.4, exclusive, tolerance), plain[::2])


def test_without_it_one_sample_is_decided_alike(monkeypatch):
    rows = np.random.default_rng(0).random((50, 60)) ** 3
    found = [best_set(row, 0.2, tolerance=0.1) for row in rows]
    monkeypatch.setattr('proemlc_ros.core.deciding.expected_f1.compiled', None)
    assert [best_set(row, 0.2, tolerance=0.1) for row in rows] == found
    assert best_set(np.zeros(0), 0.0) == []


def test_probabilities_are_the_plain_ones(monkeypatch):
    random = np.random.default_rng(0)
    scores = random.normal(size=40) * 3.0
    scores[:3] = -np.inf, 1e300, -1e300
    curve = Calibration.prior(40)._replace(slopes=random.uniform(0.5, 50.0, 40),
                                           offsets=random.normal(size=40))
    found = curve.probabilities(scores)
    monkeypatch.setattr(calibration, 'compiled', None)
    np.testing.assert_allclose(found, curve.probabilities(scores), rtol=0.0, atol=1e-15)
    assert found[0] == 0.0


@given(st.lists(st.sampled_from([-np.inf, 0.0, 0.25, 0.5, 0.5 + 1e-12, 1.0]), min_size=1,
                max_size=6), st.integers(0, 6), st.floats(-1.0, 1.0))
def test_explanations_are_the_plain_ones(values, size, threshold):
    values = np.array(values, dtype=np.float32)
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(-values, kind='stable')[:size]] = True
    found = decision.explain(values, chosen, threshold)
    plain = decision._explain(values.copy(), chosen, threshold)
    assert found.threshold == plain.threshold
    np.testing.assert_array_equal(found.values, plain.values)


def test_what_cannot_be_read_is_rejected():
    row, mask = np.ones(4), np.ones((1, 4), dtype=bool)
    for bad in (row[::2], row[np.newaxis], row.astype(np.float32), row.astype(int)):
        with pytest.raises((ValueError, BufferError)):
            compiled.best_set(bad, 0.0, False, 0.0)
    for bad in ((row, mask), (row[np.newaxis], mask[:, :3]), (row[np.newaxis], row[np.newaxis])):
        with pytest.raises((ValueError, BufferError)):
            compiled.best_sets(bad[0], 0.0, False, 0.0, bad[1])
    with pytest.raises(ValueError, match='do not fit'):
        compiled.logistic(row, row, row[:3].copy(), np.empty(4))
    with pytest.raises(ValueError, match='do not fit'):
        compiled.explain(row.astype(np.float32), mask[0, :3], 0.0)
    for function in (compiled.best_set, compiled.best_sets, compiled.logistic, compiled.explain):
        with pytest.raises(TypeError):
            function(row)
    with pytest.raises(TypeError):
        compiled.best_set(row, 'none', False, 0.0)


def left_out_of(samples, labels, seed):
    """Return scores, some beyond the bins and some at their edges, and counts of the labels."""
    random = np.random.default_rng(seed)
    targets = random.choice([-1, -1, -1, 1, 0], (samples, labels)).astype(np.int8)
    scores = 0.8 * targets + random.normal(size=targets.shape)
    scores[random.random(targets.shape) < 0.1] = 0.05
    counts = (targets > 0).sum(axis=0)
    counts[:1] = 1
    return LeftOut(scores, targets, random.random(samples) + 0.5, random.random(samples)), counts


@pytest.mark.parametrize(('samples', 'labels'), [(1, 1), (7, 3), (60, 6), (384, 50)])
def test_curves_are_the_plain_ones(samples, labels, monkeypatch):
    evidence, counts = left_out_of(samples, labels, samples)
    found = fit_calibration(evidence, counts)
    (slopes, offsets, lacking), common = plain_curves(evidence, counts)
    np.testing.assert_allclose(found.slopes, slopes, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.offsets, offsets, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.common, common, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.uncontrasted, (lacking == 0.0) & (counts > 0))
    monkeypatch.setattr(calibration, 'curves', None)
    np.testing.assert_array_equal(fit_calibration(evidence, counts).slopes, slopes)


@pytest.mark.parametrize('exclusive', [False, True])
@pytest.mark.parametrize('labels', [1, 6, 60])
def test_tolerances_do_what_they_plainly_do(exclusive, labels, monkeypatch):
    random = np.random.default_rng(labels)
    chances, shown = random.random((80, labels)) ** 0.4, random.random((80, labels)) < 0.3
    chances[0] = 0.0
    given = chances, shown, random.random(80), 0.3, exclusive, np.array([0.0, 0.05, 0.4])
    found = try_tolerances(*given)
    np.testing.assert_allclose(found, plain_tries(*given), rtol=1e-12)
    monkeypatch.setattr('proemlc_ros.core.deciding.expected_f1.compiled', None)
    np.testing.assert_allclose(found, try_tolerances(*given), rtol=1e-12)


def test_what_curves_and_tolerances_cannot_read_is_rejected():
    curves = pytest.importorskip('proemlc_ros.core.deciding._curves')
    evidence, counts = left_out_of(5, 3, 0)
    good = [evidence.scores, evidence.targets, evidence.weights, counts, np.empty((3, 3)),
            (5.0, 0.5), (6.0, 6.0), (4.0, 2.0)]
    curves.fit_curves(*good)
    for place, bad in ((0, evidence.scores[:4]), (1, evidence.scores), (2, np.ones(4)),
                       (3, counts[:2]), (3, counts.astype(np.int32)), (4, np.empty((2, 3)))):
        with pytest.raises((ValueError, BufferError)):
            curves.fit_curves(*good[:place], bad, *good[place + 1:])
    for bad in ([5.0, 0.5], (5.0,), ('a', 'b')):
        with pytest.raises(TypeError):
            curves.fit_curves(*good[:5], bad, *good[6:])
    tried = [np.ones((4, 2)), np.ones((4, 2), bool), np.ones(4), np.ones(3), np.empty((2, 3))]
    compiled.try_tolerances(*tried, 0.5, True)
    for place, bad in ((0, np.ones((3, 2))), (1, np.ones((4, 2))), (2, np.ones(3)),
                       (3, np.ones(2)), (4, np.empty((3, 3)))):
        with pytest.raises((ValueError, BufferError)):
            compiled.try_tolerances(*tried[:place], bad, *tried[place + 1:], 0.5, True)
    for function in (curves.fit_curves, compiled.try_tolerances):
        with pytest.raises(TypeError):
            function(tried[0])
