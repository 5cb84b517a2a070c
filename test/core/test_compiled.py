# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled routines do what NumPy does."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proemlc_ros.core import compiled as blas
from proemlc_ros.core.deciding import calibration, decision
from proemlc_ros.core.deciding.calibration import (
    Calibration,
    LeftOut,
    fit_calibration,
)
from proemlc_ros.core.deciding.decision import (
    best_set,
    best_sets,
    plain_sets,
    plain_tries,
    try_tolerances,
)

RANDOM = np.random.default_rng(1)
FACTOR = np.tril(RANDOM.normal(size=(6, 6))) + 6 * np.eye(6)
MATRIX = FACTOR @ FACTOR.T


@pytest.mark.parametrize('dtype', ['float64', 'float32'])
@pytest.mark.parametrize('order', ['C', 'F'])
def test_factors_and_solutions_are_those_of_numpy(dtype, order):
    matrix, right = MATRIX.astype(dtype, order=order), RANDOM.normal(size=(6, 3)).astype(dtype)
    factor = blas.cholesky(matrix)
    assert factor.dtype == dtype
    precision = 1e-12 if dtype == 'float64' else 1e-5
    np.testing.assert_allclose(factor, FACTOR, rtol=precision, atol=precision)
    solved = blas.solve_lower(np.asarray(factor, order=order), right)
    np.testing.assert_allclose(FACTOR @ solved, right, rtol=precision, atol=precision)


def test_an_inverse_is_given_by_its_lower_triangle():
    np.testing.assert_allclose(blas.inverse(np.tril(MATRIX)), np.tril(np.linalg.inv(MATRIX)),
                               rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize('call', [
    lambda: blas.cholesky(-MATRIX), lambda: blas.inverse(-MATRIX),
    lambda: blas.solve_lower(np.zeros((2, 2)), np.ones(2))])
def test_what_has_no_solution_is_an_error(call):
    with pytest.raises(np.linalg.LinAlgError):
        call()


@pytest.mark.parametrize('name', ['blas', 'lapack'])
def test_a_scipy_that_is_laid_out_otherwise_is_imported_whole(monkeypatch, name):
    direct = blas.library(name)
    with monkeypatch.context() as patch:
        patch.setattr(blas, 'find_spec', lambda _: None)
        whole = blas.library.__wrapped__(name)
    routine = 'dsymv' if name == 'blas' else 'dpotrf'
    assert whole.__name__ == f'scipy.linalg.{name}' != direct.__name__
    assert getattr(whole, routine).__doc__ == getattr(direct, routine).__doc__


def test_they_can_be_switched_off():
    program = ('from proemlc_ros.core import ProEMLC, compiled\n'
               'model = ProEMLC(hidden_size=20, seed=1)\n'
               'for value in range(30):\n'
               '    model.learn([value, value % 7], ["low" if value < 15 else "high"])\n'
               'print(compiled.compiled, model.predict([2, 2]))')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True,
                          check=True, env=os.environ | {'PROEMLC_KERNELS': '0'})
    assert done.stdout == "None [('low',)]\n"


compiled = pytest.importorskip('proemlc_ros.core._kernels')

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
    monkeypatch.setattr('proemlc_ros.core.deciding.decision.compiled', None)
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


@pytest.mark.parametrize(('samples', 'labels'), [(60, 6), (384, 50)])
def test_curves_are_those_of_the_greatest_posterior(samples, labels):
    evidence, counts = left_out_of(samples, labels, samples)
    found = fit_calibration(evidence, counts)

    def loss(slopes, offsets):
        """Return what Platt's fit of each label minimises, of scores within the bins."""
        margins = (slopes * np.clip(evidence.scores, -2.0, 2.0) + offsets) * evidence.targets
        fit = evidence.weights @ (np.log1p(np.exp(-margins)) * (evidence.targets != 0))
        slope, offset = found.common
        return fit + 2.0 * (slopes - slope) ** 2 + (offsets - offset) ** 2

    usable = (counts > 1) & (found.slopes > 0.5) & (found.slopes < 50.0)
    best = loss(found.slopes, found.offsets)[usable]
    for slope, offset in ((0.3, 0.0), (-0.3, 0.0), (0.0, 0.3), (0.0, -0.3)):
        assert (best < loss(found.slopes + slope, found.offsets + offset)[usable]).all()
    np.testing.assert_array_equal(found.uncontrasted,
                                  (evidence.targets >= 0).all(axis=0) & (counts > 0))


@pytest.mark.parametrize('exclusive', [False, True])
@pytest.mark.parametrize('labels', [1, 6, 60])
def test_tolerances_do_what_they_plainly_do(exclusive, labels, monkeypatch):
    random = np.random.default_rng(labels)
    chances, shown = random.random((80, labels)) ** 0.4, random.random((80, labels)) < 0.3
    chances[0] = 0.0
    given = chances, shown, random.random(80), 0.3, exclusive, np.array([0.0, 0.05, 0.4])
    found = try_tolerances(*given)
    np.testing.assert_allclose(found, plain_tries(*given), rtol=1e-12)
    monkeypatch.setattr('proemlc_ros.core.deciding.decision.compiled', None)
    np.testing.assert_allclose(found, try_tolerances(*given), rtol=1e-12)


def test_what_tolerances_cannot_read_is_rejected():
    tried = [np.ones((4, 2)), np.ones((4, 2), bool), np.ones(4), np.ones(3), np.empty((2, 3))]
    compiled.try_tolerances(*tried, 0.5, True)
    for place, bad in ((0, np.ones((3, 2))), (1, np.ones((4, 2))), (2, np.ones(3)),
                       (3, np.ones(2)), (4, np.empty((3, 3)))):
        with pytest.raises((ValueError, BufferError)):
            compiled.try_tolerances(*tried[:place], bad, *tried[place + 1:], 0.5, True)
    with pytest.raises(TypeError):
        compiled.try_tolerances(tried[0])


@pytest.mark.parametrize('place', [0, 3, 6, 7])
def test_a_border_in_place_is_the_inverse_of_the_larger_matrix(place, monkeypatch):
    random = np.random.default_rng(0)
    rows = random.normal(size=(20, 8))
    whole = rows.T @ rows + np.eye(8)
    others = np.delete(np.arange(8), place)
    small = np.linalg.inv(whole[np.ix_(others, others)])
    gain = small @ whole[others, place]
    factor = 1.0 / (whole[place, place] - whole[others, place] @ gain)
    for kernels in (compiled, None):
        monkeypatch.setattr(blas, 'compiled', kernels)
        store = np.full(70, 7.0)
        store[:49] = np.tril(small).ravel(order='F')
        blas.add_border(store, place, gain, factor)
        np.testing.assert_allclose(store[:64].reshape((8, 8), order='F'),
                                   np.tril(np.linalg.inv(whole)), rtol=1e-10, atol=1e-14)
        assert (store[64:] == 7.0).all()


def test_a_border_rejects_what_does_not_fit():
    store, gain = np.zeros(9), np.zeros(2)
    for bad in ((store[:8], 0, gain, 1.0), (store, 3, gain, 1.0), (store, -1, gain, 1.0),
                (store, 0, gain.astype(np.float32), 1.0), (store[::2], 0, gain[:1], 1.0)):
        with pytest.raises((ValueError, BufferError)):
            compiled.border(*bad)
    with pytest.raises(TypeError):
        compiled.border(store, 0, gain)
