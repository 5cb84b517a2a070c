# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden layers: what they compute, that they nest, and that sparse equals dense."""

import numpy as np
import pytest
from core_reference import samples
from scipy import sparse
from scipy.spatial.distance import cdist

from proemlc_ros.core.layer import differences, drawing_layer, make_layer, restore_layer
from proemlc_ros.core.layer.differences import plain_differences
from proemlc_ros.core.layer.neurons import FUNCTIONS
from proemlc_ros.core.options import ACTIVATIONS, Options
from proemlc_ros.core.steps import result_of

X, _ = samples(60, width=9)
SCALINGS = ('none', 'standard', 'minmax', 'l2')
KINDS = (*ACTIVATIONS, 'rbf', 'laplacian')


def options(**settings):
    return Options(**{'hidden_size': 12, 'scaling': 'none', 'bias': False, **settings})


def scaled(scaling, fitted=X, rows=X):
    if scaling == 'standard':
        return (rows - fitted.mean(axis=0)) / fitted.std(axis=0)
    if scaling == 'minmax':
        return (rows - fitted.min(axis=0)) / np.ptp(fitted, axis=0)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if scaling == 'l2' else rows


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


@pytest.mark.parametrize('scaling', ['standard', 'minmax'])
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
    compiled = pytest.importorskip('proemlc_ros.core.layer._distances').absolute_differences
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
    compiled = pytest.importorskip('proemlc_ros.core.layer._distances').absolute_differences
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


@pytest.mark.parametrize(('count', 'width'), [(1, 1), (2, 8), (7, 31), (70, 20)])
def test_compiled_differences_between_rows_are_the_plain_ones(count, width):
    compiled = pytest.importorskip('proemlc_ros.core.layer._distances')
    rows = np.random.default_rng(0).normal(size=(count, width))
    found, plain, direct = (np.full((count, count), 7.0) for _ in range(3))
    for start in range(0, count, 3):
        compiled.mutual_differences(rows, found, start, min(start + 3, count))
        differences.plain_mutual_differences(rows, plain, start, min(start + 3, count))
    compiled.absolute_differences(rows, rows, direct)
    np.testing.assert_array_equal(found, direct)  # to the last bit
    np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize('width', [1, 2, 8, 23, 24, 25, 100])
def test_compiled_differences_to_moved_values_are_the_plain_ones(width):
    compiled = pytest.importorskip('proemlc_ros.core.layer._distances')
    random = np.random.default_rng(0)
    rows, weights = random.normal(size=(5, width)), random.random(width)
    twice = np.concatenate((rows, rows), axis=1)
    found, plain = np.empty((24, 5)), np.empty((24, 5))
    compiled.shifted_differences(twice, weights[np.newaxis], found)
    differences.plain_shifted_differences(twice, weights, plain)
    np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize('scaling', ['none', 'standard', 'minmax', 'l2'])
@pytest.mark.parametrize('dtype', ['float64', 'float32'])
def test_one_sample_has_the_row_that_it_has_among_others(scaling, dtype):
    rows = X.astype(dtype)
    layer = make_layer(options(activation='laplacian', scaling=scaling, bias=True, dtype=dtype),
                       9, rows)
    np.testing.assert_array_equal([layer.row(row) for row in rows], layer.rows(rows))


@pytest.mark.parametrize('dtype', ['float64', 'float32'])
@pytest.mark.parametrize('activation', ['laplacian', 'rbf'])
def test_rows_known_from_drawing_a_layer_are_its_own(activation, dtype):
    rows = X.astype(dtype)
    settings = options(activation=activation, hidden_size=len(X), dtype=dtype)
    layer = result_of(drawing_layer(settings, 9, rows))
    assert layer.same_as(make_layer(settings, 9, rows))
    drawn = layer.drawn_rows(slice(3, 50))
    assert (drawn is not None) == (activation == 'laplacian')
    if drawn is not None:
        np.testing.assert_array_equal(drawn, layer.rows(rows[3:50]))
    assert layer.drawn_rows(slice(50, 61)) is None
    layer.forget_drawn()
    assert layer.drawn_rows(slice(0, 1)) is None
    smaller = result_of(drawing_layer(options(activation=activation), 9, rows.astype('float64')))
    assert smaller.drawn_rows(slice(0, 1)) is None


def test_other_compiled_differences_reject_what_they_cannot_read():
    compiled = pytest.importorskip('proemlc_ros.core.layer._distances')
    rows, vector = np.ones((4, 6)), np.ones(6)
    bad = [(compiled.mutual_differences, (rows, np.empty((4, 3)), 0, 4)),
           (compiled.mutual_differences, (rows, np.empty((4, 4)), 0, 5)),
           (compiled.mutual_differences, (rows, np.empty((4, 4)), -1, 4)),
           (compiled.mutual_differences, (vector, np.empty((4, 4)), 0, 4)),
           (compiled.shifted_differences, (rows, np.ones((1, 4)), np.empty((2, 4)))),
           (compiled.shifted_differences, (rows[:, :5].copy(), np.ones((1, 2)), np.empty((2, 4)))),
           (compiled.shifted_differences, (rows, np.ones((1, 3)), np.empty((2, 3)))),
           (compiled.negative_answers, (vector, vector, vector, rows, 1.0, np.empty(3))),
           (compiled.negative_answers, (vector[:5], vector, vector, rows, 1.0, np.empty(4))),
           (compiled.negative_answers, (vector, vector, rows, rows, 1.0, np.empty(4))),
           (compiled.negative_answers, (vector, vector, vector, vector, 1.0, np.empty(4)))]
    for function, arguments in bad:
        with pytest.raises((ValueError, BufferError)):
            function(*arguments)
        with pytest.raises(TypeError):
            function(rows)
    with pytest.raises(TypeError):
        compiled.negative_answers(vector, vector, vector, rows, 'wide', np.empty(4))
