# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The scikit-learn adapter: scikit-learn's own checks, and equality with the learner."""

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip('sklearn', minversion='1.6')

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.sklearn import ProEMLCClassifier
from proemlc_ros.errors import ParameterError


@parametrize_with_checks([ProEMLCClassifier(hidden_size=40)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    random = np.random.default_rng(3)
    X = random.standard_normal((80, 4))
    return X, np.column_stack([X[:, 0] > 0, X[:, 1] > 0.5, X.sum(axis=1) > 1]).astype(int)


def names_of(Y):
    return [[str(column) for column in np.flatnonzero(row)] for row in Y]


def test_equal_to_the_learner(data):
    X, Y = data
    estimator = ProEMLCClassifier(hidden_size=30, random_state=5).fit(X, Y)
    model = ProEMLC(hidden_size=30, seed=5)
    model.learn_initial(X, names_of(Y))
    scores = model.scores(X)[:, [model.labels.index(str(column)) for column in range(3)]]
    np.testing.assert_array_equal(estimator.decision_function(X), scores)
    assert names_of(estimator.predict(X)) == [sorted(names) for names in model.predict(X)]


def test_partial_fit_takes_new_label_columns(data):
    X, Y = data
    late = Y[:, 2] == 0
    whole = ProEMLCClassifier(activation='relu', scaling='none', hidden_size=30)
    grown = clone(whole).partial_fit(X[late], Y[late, :2]).partial_fit(X[~late], Y[~late])
    whole.partial_fit(X[late], Y[late]).partial_fit(X[~late], Y[~late])
    np.testing.assert_allclose(grown.decision_function(X), whole.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(grown.predict(X), whole.predict(X))
    assert grown.classes_.tolist() == [0, 1, 2]


def test_partial_fit_takes_new_classes(data):
    X, _ = data
    y = np.where(X[:, 0] > 0, 'right', 'left').astype('U10')
    estimator = ProEMLCClassifier(hidden_size=30).partial_fit(X, y, classes=['up'])
    assert estimator.classes_.tolist() == ['left', 'right', 'up']
    assert set(estimator.predict(X)) == {'left', 'right'}
    estimator.partial_fit(X[:5] + 50, ['far'] * 5)
    assert estimator.classes_.tolist() == ['far', 'left', 'right', 'up']
    assert estimator.predict(X[:1] + 50).tolist() == ['far']


def test_labels_cannot_be_taken_away_or_change_their_kind(data):
    X, Y = data
    estimator = ProEMLCClassifier(hidden_size=10).partial_fit(X, Y)
    with pytest.raises(ValueError, match='not taken away'):
        estimator.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match='changed between'):
        estimator.partial_fit(X, Y[:, 0])


def test_sparse_input_and_sparse_indicators(data):
    X, Y = data
    dense = ProEMLCClassifier(hidden_size=20, scaling='l2').fit(X, Y)
    thin = ProEMLCClassifier(hidden_size=20, scaling='l2').fit(
        sparse.csr_matrix(X), sparse.csr_matrix(Y))
    np.testing.assert_allclose(thin.decision_function(sparse.csr_matrix(X)),
                               dense.decision_function(X), atol=1e-8)


def test_works_in_a_grid_search(data):
    X, Y = data
    search = GridSearchCV(ProEMLCClassifier(hidden_size=20), {'ridge': [0.01, 100.0]}, cv=2,
                          scoring='f1_samples').fit(X, Y)
    assert search.best_params_['ridge'] == 0.01


def test_bad_parameters_are_named_by_fit(data):
    with pytest.raises(ParameterError, match='ridge'):
        ProEMLCClassifier(ridge=-1.0).fit(*data)


def test_classes_may_be_any_text():
    classes = np.array(['cup', 'cup ', ' ', '', 'a\nb', 'caf\u00e9', 'cafe\u0301', "'str:cup '"])
    X = np.eye(len(classes))
    model = ProEMLCClassifier(hidden_size=20, scaling='none').fit(X, classes)
    assert model.predict(X).tolist() == classes.tolist()
