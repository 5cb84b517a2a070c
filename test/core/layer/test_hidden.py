# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden layers: what they compute, that they nest, and that sparse equals dense."""

import numpy as np
import pytest
from core_reference import samples
from scipy import sparse
from scipy.spatial.distance import cdist

from proemlc_ros.core.compiled import plain_differences
from proemlc_ros.core.layer import make_layer, restore_layer
from proemlc_ros.core.layer.hidden import FUNCTIONS
from proemlc_ros.core.layer.scaling import KNOTS, Scaling
from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, Options

X, _ = samples(60, width=9)
KINDS = (*ACTIVATIONS, *RADIAL)


def options(**settings):
    return Options(**{'hidden_size': 12, 'scaling': 'none', 'bias': False, **settings})


def scaled(scaling, fitted=X, rows=X):
    if scaling == 'standard':
        return (rows - fitted.mean(axis=0)) / fitted.std(axis=0)
    if scaling == 'minmax':
        return (rows - fitted.min(axis=0)) / np.ptp(fitted, axis=0)
    if scaling == 'asinh':
        return np.arcsinh(scaled('standard', fitted, rows))
    if scaling == 'rank':
        return np.column_stack([ranks(*columns) for columns in zip(fitted.T, rows.T, strict=True)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if scaling == 'l2' else rows


def ranks(fitted, values):
    """Return the ranks of one feature; knots in one place share the mean of theirs."""
    levels = np.linspace(0.0, 1.0, KNOTS)
    knots = np.quantile(fitted, levels)
    places = np.unique(knots)
    beyond = values - np.clip(values, places[0], places[-1])
    return beyond / (np.ptp(places) or 1.0) + np.interp(
        values, places, [levels[knots == place].mean() for place in places])


@pytest.mark.parametrize('scaling', SCALINGS)
@pytest.mark.parametrize('activation', KINDS)
@pytest.mark.parametrize('links', [False, True])
def test_one_row_many_rows_and_sparse_rows_agree(activation, scaling, links):
    layer = make_layer(options(activation=activation, scaling=scaling, direct_links=links,
                               bias=links), 9, X)
    X_new = np.random.default_rng(4).normal(size=(10, 9))
    X_new[X_new < 0.3] = 0.0
    X_new[3] = 0.0
    H = layer.rows(X_new)
    assert H.shape == (10, layer.size)
    assert layer.size == 12 + links * 10
    np.testing.assert_allclose(np.array([layer.row(x) for x in X_new]), H, atol=1e-12)
    np.testing.assert_allclose(layer.rows(sparse.csr_matrix(X_new)), H, atol=1e-12)


@pytest.mark.parametrize('scaling', SCALINGS)
def test_random_neurons_apply_the_scaling_before_their_weights(scaling):
    plain = make_layer(options(activation='identity', weight_scale=1.0), 9, None)
    layer = make_layer(options(activation='identity', weight_scale=1.0, scaling=scaling,
                               warmup=len(X)), 9, X)
    np.testing.assert_allclose(layer.rows(X), scaled(scaling) @ plain.weights + plain.offset,
                               atol=1e-12)


@pytest.mark.parametrize(('activation', 'function'), [
    ('sigmoid', lambda z: 1.0 / (1.0 + np.exp(-z))), ('relu', lambda z: np.maximum(z, 0.0)),
    ('tanh', np.tanh), ('sine', np.sin), ('gaussian', lambda z: np.exp(-z * z)),
    ('softplus', lambda z: np.log1p(np.exp(z))), ('identity', lambda z: z)])
def test_activations(activation, function):
    values = np.linspace(-4.0, 4.0, 33)
    expected = function(values)
    FUNCTIONS[activation](values)
    np.testing.assert_allclose(values, expected, atol=1e-15)


def test_every_activation_that_options_allow_has_its_function():
    assert tuple(FUNCTIONS) == ACTIVATIONS


def test_activations_do_not_overflow():
    for activate in FUNCTIONS.values():
        values = np.array([-1e4, 1e4])
        activate(values)
        assert np.isfinite(values).all()


@pytest.mark.parametrize('activation', KINDS)
@pytest.mark.parametrize('whiten', [False, True])
def test_smaller_layers_of_a_seed_are_the_start_of_larger_ones(activation, whiten):
    small, large = (make_layer(options(activation=activation, hidden_size=size, whiten=whiten),
                               9, X).rows(X) for size in (7, 30))
    np.testing.assert_allclose(small, large[:, :7], atol=1e-9)


@pytest.mark.parametrize('activation', KINDS)
def test_a_seed_makes_the_same_layer_and_another_seed_another(activation):
    rows = [make_layer(options(activation=activation, seed=seed), 9, X).rows(X)
            for seed in (5, 5, 6)]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


@pytest.mark.parametrize('scaling', SCALINGS)
@pytest.mark.parametrize(('activation', 'metric'), [('rbf', 'sqeuclidean'),
                                                    ('laplacian', 'cityblock')])
def test_radial_neurons_are_kernels_around_samples(activation, metric, scaling):
    layer = make_layer(options(activation=activation, scaling=scaling, gamma=0.3), 9, X)
    Z = scaled(scaling)
    distances = cdist(Z, layer.centres, metric)
    np.testing.assert_allclose(layer.rows(X), np.exp(-0.3 * distances), atol=1e-10)
    # Every centre is one of the scaled samples, and no two are the same one.
    nearest = cdist(layer.centres, Z)
    assert nearest.min(axis=1).max() < 1e-12
    assert len(set(nearest.argmin(axis=1))) == 12


@pytest.mark.parametrize(('activation', 'metric'), [('rbf', 'sqeuclidean'),
                                                    ('laplacian', 'cityblock')])
def test_gamma_comes_from_the_usual_distance(activation, metric):
    distances = cdist(X, X, metric)[np.triu_indices(60, 1)]
    for size in (5, 40):
        layer = make_layer(options(activation=activation, hidden_size=size, gamma_scale=0.5),
                           9, X)
        assert layer.gamma == pytest.approx(0.5 / np.median(distances))
    same = make_layer(options(activation=activation), 9, np.ones((5, 9)))
    assert same.gamma == 1.0


@pytest.mark.parametrize('activation', ['rbf', 'laplacian'])
def test_whitened_ridge_is_kernel_ridge(activation):
    layer = make_layer(options(activation=activation, hidden_size=60, whiten=True, gamma=0.2),
                       9, X)
    y = X[:, 0] * X[:, 1]
    H = layer.rows(X)
    ridge = H @ np.linalg.solve(H.T @ H + 0.1 * np.eye(60), H.T @ y)
    K = np.exp(-0.2 * cdist(X, X, 'sqeuclidean' if activation == 'rbf' else 'cityblock'))
    np.testing.assert_allclose(ridge, K @ np.linalg.solve(K + 0.1 * np.eye(60), y), atol=1e-6)


def test_fewer_samples_than_centres_give_fewer_centres():
    assert make_layer(options(activation='rbf', hidden_size=100), 9, X).size == 60


def test_equal_centres_can_be_whitened():
    layer = make_layer(options(activation='rbf', whiten=True), 9, np.ones((12, 9)))
    assert np.isfinite(layer.rows(X)).all()


@pytest.mark.parametrize('values', [X, np.round(X, 1), np.maximum(X, 0.2), X[:3]])
def test_ranks_are_shares_of_the_first_samples(values):
    fitted = Scaling.fit('rank', 9, values, 'float64')
    new = np.concatenate([X, 10.0 * X, values])
    np.testing.assert_allclose(fitted.apply(new), scaled('rank', values, new), atol=1e-12)
    thin = Scaling.fit('rank', 9, sparse.csr_matrix(values), 'float64')
    np.testing.assert_array_equal(thin.knots, fitted.knots)


def test_the_sum_of_kernels_is_the_mean_of_its_four():
    layer = make_layer(options(activation='kernel_sum', scaling='standard'), 9, X)
    four = [make_layer(options(activation=activation, scaling=scaling), 9, X).rows(X)
            for scaling in ('standard', 'rank') for activation in ('laplacian', 'rbf')]
    np.testing.assert_allclose(layer.rows(X), np.mean(four, axis=0), atol=1e-12)
    own = layer.own_neurons(layer.rows(X))
    assert sorted(own) == [-1] * 48 + list(range(12))
    places = layer.places_of_centres(X)
    assert [own[place] for place in places] == list(range(12))


@pytest.mark.parametrize('scaling', ['standard', 'minmax', 'asinh', 'rank'])
def test_a_feature_that_never_moved_does_no_harm(scaling):
    still = X.copy()
    still[:, 2] = 7.0
    layer = make_layer(options(activation='relu', scaling=scaling), 9, still)
    assert np.isfinite(layer.rows(X)).all()
    fitted = make_layer(options(activation='relu', scaling=scaling), 9, sparse.csr_matrix(still))
    np.testing.assert_allclose(fitted.rows(X), layer.rows(X), atol=1e-10)


@pytest.mark.parametrize('activation', KINDS)
@pytest.mark.parametrize('dtype', ['float64', 'float32'])
def test_a_layer_is_made_again_from_its_arrays(activation, dtype):
    settings = options(activation=activation, scaling='standard', whiten=True, dtype=dtype)
    layer = make_layer(settings, 9, X.astype(dtype))
    again = restore_layer(settings, {name: array.copy() for name, array in layer.arrays().items()})
    rows = layer.rows(X.astype(dtype))
    assert rows.dtype == dtype
    np.testing.assert_array_equal(again.rows(X.astype(dtype)), rows)
    assert layer.same_as(again)
    assert not layer.same_as(make_layer(options(activation=activation, seed=9), 9, X))


@pytest.mark.parametrize(('count', 'neurons', 'width'), [
    (1, 1, 1), (1, 7, 8), (3, 5, 9), (4, 6, 31), (5, 9, 294), (17, 33, 64)])
def test_compiled_distances_are_the_plain_ones(count, neurons, width):
    compiled = pytest.importorskip('proemlc_ros.core._kernels').absolute_differences
    random = np.random.default_rng(0)
    rows, centres = random.normal(size=(count, width)), random.normal(size=(neurons, width))
    centres[0] = rows[0]
    store, plain = np.full((count, neurons + 2), 7.0), np.empty((count, neurons))
    compiled(rows, centres, store[:, :neurons])
    plain_differences(rows, centres, plain)
    np.testing.assert_allclose(store[:, :neurons], plain, rtol=1e-12, atol=1e-300)
    assert store[0, 0] == 0.0 and (store[:, neurons:] == 7.0).all()
    for place in range(count):  # the same bits for one row as for many
        alone = np.empty((1, neurons))
        compiled(rows[place:place + 1], centres, alone)
        np.testing.assert_array_equal(alone[0], store[place, :neurons])


def test_compiled_distances_reject_what_they_cannot_read():
    compiled = pytest.importorskip('proemlc_ros.core._kernels').absolute_differences
    rows, centres, out = np.ones((4, 6)), np.ones((3, 6)), np.empty((4, 3))
    for bad in ((rows[:, :5], centres, out), (rows[:3], centres, out),
                (rows.astype(np.float32), centres, out), (np.asfortranarray(rows), centres, out),
                (rows, centres[:, ::2], out), (rows, centres, np.empty((3, 4)).T),
                (rows[0], centres, out)):
        with pytest.raises(ValueError, match='expected C-ordered|do not fit'):
            compiled(*bad)
    with pytest.raises(TypeError):
        compiled(rows, centres)
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        compiled(rows, centres, out)


@pytest.mark.parametrize(('count', 'width'), [(1, 1), (3, 8), (4, 9), (17, 31), (33, 294)])
def test_compiled_distances_of_rows_to_each_other_are_the_plain_ones(count, width):
    compiled = pytest.importorskip('proemlc_ros.core._kernels')
    rows = np.random.default_rng(0).normal(size=(count, width))
    found, expected = np.empty((count, count)), np.empty((count, count))
    compiled.mutual_differences(rows, found)
    compiled.absolute_differences(rows, rows, expected)
    np.testing.assert_array_equal(found, expected)


def test_compiled_asinh_is_that_of_numpy():
    compiled = pytest.importorskip('proemlc_ros.core._kernels')
    random = np.random.default_rng(0)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e8, 1.7e308, -5e-324]
    sizes = 10.0 ** random.uniform(-300.0, 300.0, 2000)
    values = np.concatenate([special, random.normal(size=2000) * sizes, random.normal(size=999)])
    found = values.copy()[np.newaxis]
    compiled.inverse_sinh(found)
    np.testing.assert_allclose(found[0], np.arcsinh(values), rtol=5e-16, atol=0.0)
    assert np.signbit(found[0, 1])
    for place in range(len(values)):  # the same bits for one value as for many
        alone = values[place:place + 1, np.newaxis].copy()
        compiled.inverse_sinh(alone)
        np.testing.assert_array_equal(alone[0, 0], found[0, place])


@pytest.mark.parametrize('scaling', SCALINGS)
@pytest.mark.parametrize('dtype', ['float64', 'float32'])
def test_one_sample_has_the_row_that_it_has_among_others(scaling, dtype):
    rows = X.astype(dtype)
    layer = make_layer(options(activation='laplacian', scaling=scaling, bias=True, dtype=dtype),
                       9, rows)
    np.testing.assert_array_equal([layer.row(row) for row in rows], layer.rows(rows))


def test_other_compiled_differences_reject_what_they_cannot_read():
    compiled = pytest.importorskip('proemlc_ros.core._kernels')
    rows, vector = np.ones((4, 6)), np.ones(6)
    bad = [(compiled.mutual_differences, (rows, np.empty((4, 3)))),
           (compiled.mutual_differences, (rows[:, ::2], np.empty((4, 4)))),
           (compiled.negative_answers, (vector, vector, vector, rows, 1.0, np.empty(3), False)),
           (compiled.negative_answers, (vector[:5], vector, vector, rows, 1.0, np.empty(4), True)),
           (compiled.negative_answers, (vector, vector, rows, rows, 1.0, np.empty(4), False)),
           (compiled.negative_answers, (vector, vector, vector, vector, 1.0, np.empty(4), True))]
    for function, arguments in bad:
        with pytest.raises((ValueError, BufferError)):
            function(*arguments)
        with pytest.raises(TypeError):
            function(rows)
    with pytest.raises(TypeError):
        compiled.negative_answers(vector, vector, vector, rows, 'wide', np.empty(4), False)
    for not_a_matrix in (vector, rows[:, ::2], rows.astype(np.float32)):
        with pytest.raises((ValueError, BufferError)):
            compiled.inverse_sinh(not_a_matrix)
