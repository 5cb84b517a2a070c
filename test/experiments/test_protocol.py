# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Folds and streams: every sample once, labels group by group."""

import numpy as np
import pytest
from toy_data import make_data

from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.tables import introduction_order
from proemlc_ros.experiments.paper import _common_refinement, group_starts, make_folds


def test_common_refinement_has_every_border():
    assert _common_refinement(['44+1', '39+2+2+1+1', '38+3+4'], 45) == [38, 1, 2, 2, 1, 1]


def test_folds_cover_everything_once_and_streams_introduce_labels_in_turn():
    data = make_data()
    folds = make_folds(data.Y, ['3+1', '2+1+1'], 5)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(len(data)))
    for fold in folds:
        assert sorted(np.concatenate([fold.train, fold.test])) == list(range(len(data)))
        stream = data.Y[fold.train]
        assert not stream[:fold.first, 2:].any()
        starts = group_starts(stream, [2, 1, 1])
        assert starts[0] == fold.first
        assert not stream[:starts[1], 3].any() and stream[starts[1], 3]


def test_introduction_order_keeps_earlier_labels_in_the_stream():
    data = make_data(400)
    for start, low in ((None, 1 / 3), (0.75, 0.75)):
        stream = data.Y[introduction_order(data.Y, [2, 1, 1], 1, start)]
        first, second = group_starts(stream, [2, 1, 1])
        # Samples of the first group thin out towards the end, so the position is a little less.
        assert 0.7 * low < first / 400 < second / 400
        later = stream[second:]
        assert (later.any(axis=1) & ~later[:, 2:].any(axis=1)).mean() > 0.2


def test_too_many_folds_are_named():
    with pytest.raises(ParameterError, match='cannot make 200 folds'):
        make_folds(make_data().Y, ['2+1+1'], 200)
