# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One contract for all baselines."""

import sys

import numpy as np
import pytest
from scipy import sparse
from toy_labels import make_data

from proemlc_ros.errors import MissingDependencyError
from proemlc_ros.experiments.baselines import BASELINES, baseline_class

pytest.importorskip('sklearn')


@pytest.mark.parametrize('name', BASELINES)
@pytest.mark.parametrize('form', [np.asarray, sparse.csr_matrix])
def test_every_baseline_learns_something_and_says_where_it_comes_from(name, form):
    kind = baseline_class(name)
    X, Y = make_data()
    fresh, truth = make_data(60, seed=1)
    settings = kind.settings_for(3)[0]
    if 'hidden_size' in settings:
        settings = {'hidden_size': 25}
    baseline = kind(**settings, seed=1)
    baseline.fit(form(X), Y)
    scores = baseline.scores(form(fresh))
    assert scores.shape == truth.shape and np.isfinite(scores).all()
    predicted = baseline.predict(form(fresh))
    assert predicted.dtype == bool
    assert np.mean(predicted != truth) < 0.7 * np.mean(truth)  # naming nothing errs by the mean
    assert len(kind.reference) > 20 and kind.category


@pytest.mark.parametrize('name', BASELINES)
def test_a_label_without_samples_does_no_harm(name):
    X, Y = make_data(60)
    Y = np.column_stack([Y, np.zeros(60, bool)])
    kind = baseline_class(name)
    settings = {'hidden_size': 25} if 'hidden_size' in kind.settings_for(4)[0] else {}
    baseline = kind(**settings)
    baseline.fit(X, Y)
    assert not baseline.predict(X)[:, 3].any()


def test_baselines_name_the_extra_that_they_need(monkeypatch):
    for name in list(sys.modules):
        if name.startswith(('proemlc_ros.experiments.baselines.', 'sklearn.')):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sklearn', None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'proemlc_ros\[experiments\]'"):
        baseline_class('CC')
