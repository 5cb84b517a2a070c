# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Model choice: points equal real models, and the choice does no harm on unlike data."""

import numpy as np
import pytest
from scipy import sparse

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.deciding.decision import best_choice
from proemlc_ros.core.deciding.left_out import nested_fits
from proemlc_ros.core.layer.radial import centre_order
from proemlc_ros.core.metrics import f1_example
from proemlc_ros.core.options import Options
from proemlc_ros.core.selection import Selection
from proemlc_ros.core.selection.candidates import hidden_columns, try_candidate
from proemlc_ros.core.selection.search import centres_of_labels, select_model
from proemlc_ros.errors import EmptyInputError, LengthMismatchError, ParameterError

CANDIDATES = [{'activation': 'laplacian', 'scaling': 'standard'},
              {'activation': 'relu', 'scaling': 'standard'}]


def names_of(Y):
    return [[str(column) for column in np.flatnonzero(row)] for row in Y]


def make_data(seed, samples=300):
    random = np.random.default_rng(seed)
    X = random.standard_normal((samples, 5))
    return X, np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] > 0.5, X.sum(axis=1) > 0.5])


@pytest.mark.parametrize('candidate', [
    {'activation': 'laplacian', 'scaling': 'standard'},
    {'activation': 'rbf', 'scaling': 'l2', 'whiten': True, 'direct_links': True},
    {'activation': 'relu', 'scaling': 'none', 'bias': True},
    {'activation': 'kernel_sum', 'scaling': 'standard'},
])
def test_left_out_scores_equal_real_models(candidate):
    """Of samples that are no centres; for centres see test_left_out.py."""
    X, Y = make_data(1, 30)
    options = Options.from_dict({**candidate, 'hidden_size': 8, 'ridge': 1.0})
    H, others, centres, _ = hidden_columns(X, options, 12)
    T = np.where(Y, 1.0, -1.0)
    fit, = nested_fits(H, T, 1.0, [others + 8], centres=centres)
    layer = ProEMLC(**options.as_dict())
    layer.learn_initial(X[:12], names_of(Y[:12]))
    for sample in range(12, len(X)):
        rest = np.arange(len(X)) != sample
        model = layer.empty_copy()
        model.learn(X[rest], names_of(Y[rest]))
        columns = [model.labels.index(str(label)) for label in range(3)]
        np.testing.assert_allclose(fit.left_out[sample],
                                   model.scores(X[sample:sample + 1])[0, columns], atol=1e-8)


def test_a_point_is_scored_by_left_out_scores():
    X, Y = make_data(1, 40)
    point, = try_candidate(X, Y, CANDIDATES[1], [20], [0.5])
    H, others, *_ = hidden_columns(X, point.options, len(X))
    T = np.where(Y, 1.0, -1.0)
    fit, = nested_fits(H, T, 0.5, [others + 20])
    decided = best_choice(fit.left_out, Y).decide(fit.left_out)
    assert point.left_out_square == pytest.approx(np.mean((T - fit.left_out) ** 2))
    assert point.left_out_f1 == pytest.approx(f1_example(Y, decided))


def test_chooses_what_the_data_need():
    X, Y = make_data(2)
    chosen = select_model(X, Y, CANDIDATES, sizes=[5, 20, 150])
    fresh, truth = make_data(3, 1000)
    model = ProEMLC(**chosen.keywords())
    model.learn_initial(X, names_of(Y))
    predicted = indicators_of(model.predict(fresh), 3)
    assert chosen.best.hidden_size > 5
    assert f1_example(truth, predicted) > 0.8


def test_the_small_network_is_the_smallest_within_two_per_cent():
    X, Y = make_data(2)
    chosen = select_model(X, Y, CANDIDATES, sizes=[5, 20, 80, 150])
    enough = 0.98 * max(point.left_out_f1 for point in chosen.points)
    assert chosen.small_point.left_out_f1 >= enough
    assert all(point.columns >= chosen.small_point.columns for point in chosen.points
               if point.left_out_f1 >= enough)
    assert f'{chosen.small_point.options.hidden_size} hidden' in chosen.summary(chosen.small_point)


def test_first_samples_alone_fix_the_layer():
    X, Y = make_data(4, 60)
    chosen = select_model(X, Y, CANDIDATES[:1], sizes=[10, 50], first=20)
    assert max(point.options.hidden_size for point in chosen.points) == 20


def test_dense_and_sparse_choose_the_same():
    X, Y = make_data(5, 100)
    X = np.abs(np.round(X))
    one, other = (select_model(form, Y, [{'activation': 'laplacian', 'scaling': 'none'}], [5, 30])
                  for form in (X, sparse.csr_matrix(X)))
    assert one.keywords() == other.keywords()
    assert one.best_point.left_out_square == pytest.approx(other.best_point.left_out_square)


def test_text_shows_the_curve_and_the_choice():
    X, Y = make_data(6, 80)
    chosen = select_model(X, Y, CANDIDATES, sizes=[5, 10, 40])
    text = chosen.text()
    assert text.count('<- chosen') == 1
    assert f'{chosen.best.hidden_size} hidden' in chosen.summary()
    assert [point.options.hidden_size for point in chosen.curve()] == [5, 10, 40]
    training = [point.training_hamming for point in chosen.curve()]
    assert training[-1] <= training[0]


@pytest.mark.parametrize(('X', 'Y', 'error'), [
    (np.ones((3, 2)), np.ones((4, 1)), LengthMismatchError),
    (np.ones((3, 2)), np.ones((3, 0)), EmptyInputError),
    (np.ones((0, 2)), np.ones((0, 1)), EmptyInputError),
])
def test_bad_input_is_named(X, Y, error):
    with pytest.raises(error):
        select_model(X, Y)


def test_nothing_to_choose_is_named():
    X, Y = make_data(7, 20)
    with pytest.raises(ParameterError, match='at least one'):
        select_model(X, Y, candidates=[])
    with pytest.raises(ParameterError, match='no points'):
        Selection([])


def indicators_of(predicted, labels):
    result = np.zeros((len(predicted), labels), dtype=bool)
    for row, names in enumerate(predicted):
        result[row, [int(name) for name in names]] = True
    return result


def half_without_labels(random, samples):
    X = random.standard_normal((samples, 6))
    return X, np.column_stack([(X[:, 0] > 0) & (X[:, part] > 0.3) for part in range(1, 5)])


def thirty_labels_a_sample(random, samples):
    X = random.standard_normal((samples, 10))
    weights = np.random.default_rng(99).standard_normal((10, 60))
    return X, X @ weights > 0.0


@pytest.mark.parametrize('make', [half_without_labels, thirty_labels_a_sample])
def test_defaults_stay_within_five_percent_of_the_best_fixed_rule(make):
    random = np.random.default_rng(8)
    X, Y = make(random, 400)
    fresh, truth = make(random, 600)
    chosen = select_model(X[:200], Y[:200])
    model = ProEMLC(**chosen.keywords())
    for start in range(0, len(X), 50):
        model.learn(X[start:start + 50], names_of(Y[start:start + 50]))
    ours = f1_example(truth, indicators_of(model.predict(fresh), Y.shape[1]))
    columns = [model.labels.index(str(label)) for label in range(Y.shape[1])]
    scores = model.scores(fresh)[:, columns]
    # The best fixed threshold, with and without "at least one", chosen on the fresh samples.
    best = f1_example(truth, best_choice(scores, truth).decide(scores))
    assert ours >= 0.95 * best
    if make is half_without_labels:
        assert 0.3 < np.mean(~truth.any(axis=1)) and [] in [list(p) for p in model.predict(fresh)]


def test_rare_labels_have_centres_of_their_own():
    random = np.random.default_rng(3)
    truth = np.zeros((1000, 4), dtype=bool)
    truth[np.arange(1000), random.choice(4, 1000, p=(0.02, 0.02, 0.48, 0.48))] = True
    truth[:20] = False
    order = centres_of_labels(truth, 0)
    assert sorted(order) == list(range(1000))
    assert (truth[order[:20]].sum(axis=0) == 5).all()
    by_chance = centre_order(0, 1000)
    rest = by_chance[~np.isin(by_chance, order[:20])]
    np.testing.assert_array_equal(order[20:], rest)
