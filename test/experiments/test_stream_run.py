# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A pass over a stream: the order of labels and the chunks do not matter."""

import numpy as np
from toy_data import make_data

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection import select_model
from proemlc_ros.experiments.protocol import make_folds
from proemlc_ros.experiments.stream_run import Stream

PATTERNS = ('4', '3+1', '2+1+1')


def test_all_patterns_and_chunks_end_in_the_same_model():
    data = make_data()
    fold = make_folds(data.Y, PATTERNS, 4)[0]
    settings = select_model(data.X[fold.train], data.Y[fold.train], sizes=[10, 30],
                            first=fold.first).keywords()
    runs = [Stream(data, fold, pattern, chunk).run(settings, initial=fold.first)
            for pattern in PATTERNS for chunk in (1, 7)]
    for run in runs[1:]:
        np.testing.assert_allclose(run.scores, runs[0].scores, atol=1e-8)
        np.testing.assert_array_equal(run.predicted, runs[0].predicted)


def test_without_an_initial_block_the_model_is_that_of_a_user():
    """A user makes a model, knows no labels yet, and learns sample after sample."""
    data = make_data()
    fold = make_folds(data.Y, PATTERNS, 4)[0]
    model = ProEMLC(hidden_size=30)
    for row in fold.train:
        model.learn(data.X[row], data.labels(row))
    model.fit_decision()
    scores = model.scores(data.X[fold.test])[:, [model.labels.index(name) for name in 'abcd']]
    for pattern in PATTERNS:
        run = Stream(data, fold, pattern).run({'hidden_size': 30}, initial=0)
        np.testing.assert_allclose(run.scores, scores, atol=1e-8)
        assert [list(np.array(list('abcd'))[row]) for row in run.predicted] == [
            sorted(names) for names in model.predict(data.X[fold.test])]
