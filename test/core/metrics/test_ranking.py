# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ranking metrics: cases worked by hand, and agreement with scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from indicator_pairs import indicator_pairs

from proemlc_ros.core import metrics
from proemlc_ros.core.metrics import ranking
from proemlc_ros.errors import LengthMismatchError, NotFiniteError


def test_ranking_worked_by_hand():
    truth, scores = [[1, 0, 1, 0]], [[0.9, 0.8, 0.1, 0.0]]
    values = metrics.evaluate(truth, np.zeros((1, 4), bool), scores)
    assert values['one_error'] == 0
    assert values['coverage'] == 3
    assert values['ranking_loss'] == pytest.approx(1 / 4)
    assert values['average_precision'] == pytest.approx((1 + 2 / 3) / 2)


def test_ranking_without_any_label_has_nothing_wrong():
    nothing = np.zeros((3, 0))
    assert (ranking.one_error(nothing, nothing), ranking.coverage(nothing, nothing)) == (0, 0)


def test_bad_scores_are_named():
    with pytest.raises(LengthMismatchError):
        ranking.one_error([[1, 0]], [[1, 2, 3]])
    with pytest.raises(NotFiniteError):
        ranking.one_error([[1, 0]], [[1, np.nan]])


@settings(deadline=None)
@given(indicator_pairs(2))
def test_ranking_metrics_equal_scikit_learn(pairs):
    learn = pytest.importorskip('sklearn.metrics')
    truth, _, scores = pairs
    assert ranking.coverage(truth, scores) == pytest.approx(learn.coverage_error(truth, scores))
    assert ranking.ranking_loss(truth, scores) == pytest.approx(
        learn.label_ranking_loss(truth, scores))
    assert ranking.average_precision(truth, scores) == pytest.approx(
        learn.label_ranking_average_precision_score(truth, scores))
