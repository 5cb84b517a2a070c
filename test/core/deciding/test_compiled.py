# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of decisions against the same in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proemlc_ros.core.deciding import calibration, decision
from proemlc_ros.core.deciding.calibration import Calibration
from proemlc_ros.core.deciding.expected_f1 import best_set, best_sets, plain_sets

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
