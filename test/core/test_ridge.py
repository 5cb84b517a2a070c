# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The recursion against a batch ridge regression."""

from __future__ import annotations

import numpy as np
import pytest

from proemlc_ros.core import ridge as ridge_module
from proemlc_ros.core.ridge import FIRST, PENDING, ForgettingRidge, RecursiveRidge
from proemlc_ros.errors import DefinitenessError, TooLargeError

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True, params=[(0, PENDING), (0, FIRST), (300, FIRST)],
                ids=['changes pending', 'first changes pending', 'changes at once'])
def small(request, monkeypatch):
    """Try all ways to change M, whatever its size."""
    for name, value in zip(('SMALL', 'FIRST'), request.param):
        monkeypatch.setattr(ridge_module, name, value)
    return request.param[0] > 0


def learn(ridge, h, y):
    gain, leverage = ridge.gain(h)
    ridge.update(gain, leverage, y - ridge.outputs(h))


def full(ridge):
    """Return M as a full matrix."""
    return np.column_stack([ridge.gain(unit)[0] for unit in np.eye(ridge.size)])


@pytest.mark.parametrize('count', [1, PENDING, PENDING + 1, 5 * PENDING + 3])
def test_one_by_one_equals_the_normal_equations(count):
    H, Y = RANDOM.normal(size=(count, 6)), RANDOM.normal(size=(count, 2))
    ridge = RecursiveRidge(6, 0.5)
    ridge.add_output()
    for h, y in zip(H, Y):
        learn(ridge, h, y)
    A = H.T @ H + 0.5 * np.eye(6)
    np.testing.assert_allclose(full(ridge), np.linalg.inv(A), atol=1e-10)
    np.testing.assert_allclose(ridge.beta, np.linalg.solve(A, H.T @ Y), atol=1e-10)


def test_a_block_equals_one_by_one_with_its_residuals():
    H, Y = RANDOM.normal(size=(30, 6)), RANDOM.normal(size=(30, 1))
    one, block = RecursiveRidge(6, 1.0), RecursiveRidge(6, 1.0)
    residuals, leverages = [], []
    for h, y in zip(H, Y):
        residuals.append(y - one.outputs(h))
        leverages.append(one.gain(h)[1])
        learn(one, h, y)
    prepared = block.prepare_rows(H)
    np.testing.assert_allclose(block.update_rows(H, prepared, Y), residuals, atol=1e-12)
    np.testing.assert_allclose(prepared.leverages, leverages)
    np.testing.assert_allclose(full(block), full(one), atol=1e-12)
    np.testing.assert_allclose(block.beta, one.beta, atol=1e-12)


def test_gains_and_gain_agree_while_changes_are_pending(small):
    ridge = RecursiveRidge(4, 1.0)
    for h in RANDOM.normal(size=(5, 4)):
        learn(ridge, h, np.ones(1))
    assert ridge.pending == (0 if small else 5)
    H = RANDOM.normal(size=(3, 4))
    np.testing.assert_allclose(ridge.gains(H).T, [ridge.gain(h)[0] for h in H], atol=1e-14)


@pytest.mark.parametrize(('size', 'count'), [(50, 30), (320, 40), (320, 150)])
def test_leverages_are_those_of_the_gains(size, count):
    random = np.random.default_rng(0)
    ridge = RecursiveRidge(size, 0.1)
    for row in random.normal(size=(count, size)):
        ridge.update(*ridge.gain(row), np.zeros(1))
    rows, places = random.normal(size=(9, size)), random.integers(size, size=9)
    gains = ridge.gains(rows)
    leverages, entries = ridge.leverages(rows, places)
    np.testing.assert_allclose(leverages, np.einsum('ij,ji->i', rows, gains), rtol=1e-10)
    np.testing.assert_allclose(entries, gains[places, np.arange(9)], atol=1e-10)


def test_downdate_takes_a_row_back():
    H, Y = RANDOM.normal(size=(20, 6)), RANDOM.normal(size=(20, 1))
    ridge = RecursiveRidge(6, 1.0)
    for h, y in zip(H, Y):
        learn(ridge, h, y)
    for h, y in zip(H[:15], Y[:15]):
        gain, leverage = ridge.gain(h)
        ridge.downdate(gain, leverage, y - ridge.outputs(h))
    A = H[15:].T @ H[15:] + np.eye(6)
    np.testing.assert_allclose(full(ridge), np.linalg.inv(A), atol=1e-10)
    np.testing.assert_allclose(ridge.beta, np.linalg.solve(A, H[15:].T @ Y[15:]), atol=1e-10)


def test_downdate_rejects_to_lose_positive_definiteness():
    ridge = RecursiveRidge(3, 1.0)
    h = np.array([1.0, 2.0, 2.0])  # hMh = 9: nothing was learnt in this direction
    gain, leverage = ridge.gain(h)
    before = ridge.matrix.copy(), ridge.beta.copy()
    with pytest.raises(DefinitenessError, match='leverage 9'):
        ridge.downdate(gain, leverage, np.ones(1))
    np.testing.assert_array_equal(ridge.matrix, before[0])
    np.testing.assert_array_equal(ridge.beta, before[1])


def test_rows_beyond_the_precision_are_rejected():
    with pytest.raises(TooLargeError, match='scale the features or raise the ridge'):
        RecursiveRidge(2, 1.0).check(1e15)
    with pytest.raises(TooLargeError):
        RecursiveRidge(2, 1.0).prepare_rows(np.full((2, 2), 1e9))
    with pytest.raises(TooLargeError):
        RecursiveRidge(2, 1.0).check(float('nan'))


@pytest.mark.parametrize('dtype', ['float64', 'float32'])
def test_rows_that_are_always_accepted_are_accepted(dtype):
    ridge = RecursiveRidge(4, 0.03, dtype)
    length = 1.0
    while ridge.always_accepts((10.0 * length) ** 2):
        length *= 10.0
    rows = np.asarray(np.random.default_rng(0).normal(size=(300, 4)), dtype)
    rows *= length / np.linalg.norm(rows, axis=1)[:, np.newaxis]
    ridge.prepare_rows(rows)
    assert length >= 10.0 and not RecursiveRidge(4, 0.0, dtype).always_accepts(1.0)


def test_outputs_come_and_go():
    ridge = RecursiveRidge(3, 1.0)
    learn(ridge, np.ones(3), -np.ones(1))
    for _ in range(20):
        ridge.add_output()
    np.testing.assert_array_equal(ridge.beta, np.repeat(ridge.beta[:, :1], 21, axis=1))
    ridge.beta[:, 5] = 5.0
    ridge.beta[:, 6] = 6.0
    ridge.remove_output(5)
    assert ridge.beta.shape == (3, 20)
    assert (ridge.beta[:, 5] == 6.0).all()
    ridge.add_output(np.full(3, 9.0))
    assert (ridge.beta[:, 20] == 9.0).all()


def test_a_copy_is_independent():
    ridge = RecursiveRidge(3, 1.0)
    twin = ridge.copy()
    learn(ridge, np.ones(3), np.ones(1))
    np.testing.assert_array_equal(full(twin), np.eye(3))
    assert not twin.beta.any()


@pytest.mark.parametrize('forgetting', [0.6, 0.9, 0.999])
def test_forgetting_is_weighted_ridge_regression(forgetting):
    H, Y = RANDOM.normal(size=(200, 5)), RANDOM.normal(size=(200, 1))
    ridge = ForgettingRidge(5, 2.0, 'float64', forgetting)
    for h, y in zip(H, Y):
        learn(ridge, h, y)
    weights = forgetting ** np.arange(199, -1, -1.0)
    A = (H.T * weights) @ H + np.diag(ridge.prior)
    np.testing.assert_allclose(full(ridge), np.linalg.inv(A), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ridge.beta, np.linalg.solve(A, (H.T * weights) @ Y), atol=1e-9)


def test_forgetting_never_winds_up():
    ridge = ForgettingRidge(5, 1.0, 'float64', 0.9)
    h = np.eye(5)[0]
    for _ in range(20_000):  # the other four directions are never seen again
        learn(ridge, h, np.ones(1))
    assert np.abs(full(ridge)).max() < 10.0
    assert 0.5 < ridge.prior.sum() / 5 < 2.0


def test_forgetting_takes_the_last_rows_back():
    H = RANDOM.normal(size=(40, 5))
    ridge = ForgettingRidge(5, 1.0, 'float64', 0.95)
    for h in H[:30]:
        learn(ridge, h, np.ones(1))
    before = full(ridge), ridge.beta.copy(), ridge.prior.copy()
    for h in H[30:]:
        learn(ridge, h, -np.ones(1))
    for h in H[:29:-1]:
        ridge.rewind()
        gain, leverage = ridge.gain(h)
        ridge.downdate(gain, leverage, -np.ones(1) - ridge.outputs(h))
    for now, then in zip((full(ridge), ridge.beta, ridge.prior), before):
        np.testing.assert_allclose(now, then, atol=1e-10)


def test_float32_stays_float32():
    ridge = RecursiveRidge(4, 1.0, 'float32')
    H = RANDOM.normal(size=(40, 4)).astype(np.float32)
    for h in H[:20]:
        learn(ridge, h, np.ones(1, dtype=np.float32))
    prepared = ridge.prepare_rows(H[20:])
    ridge.update_rows(H[20:], prepared, np.ones((20, 1), dtype=np.float32))
    assert ridge.matrix.dtype == ridge.beta.dtype == np.float32
    A = H.astype(float).T @ H + np.eye(4)
    np.testing.assert_allclose(full(ridge), np.linalg.inv(A), atol=1e-5)


@pytest.mark.parametrize('count', [1, PENDING, PENDING + 1, 40, FIRST, FIRST + 1, 2 * FIRST])
@pytest.mark.parametrize('rows', [1, 7])
def test_when_m_is_written_out_makes_no_difference(count, rows):
    H, Y = RANDOM.normal(size=(count, 30)), RANDOM.normal(size=(count, 1))
    kept, written = RecursiveRidge(30, 0.5), RecursiveRidge(30, 0.5)
    for place in range(0, count, rows):
        block = H[place:place + rows], Y[place:place + rows]
        for ridge in (kept, written):
            if rows == 1:
                learn(ridge, block[0][0], block[1][0])
            else:
                ridge.update_rows(block[0], ridge.prepare_rows(block[0], place == 0), block[1])
        assert written.matrix.shape == (30, 30) and written.pending <= PENDING
        np.testing.assert_allclose(kept.diagonal(np.arange(30)), full(kept).diagonal(), atol=1e-12)
    np.testing.assert_allclose(full(kept.copy()), full(written), atol=1e-11)
    np.testing.assert_allclose(kept.gains(H), written.gains(H), atol=1e-11)
    np.testing.assert_allclose(kept.beta, written.beta, atol=1e-11)
