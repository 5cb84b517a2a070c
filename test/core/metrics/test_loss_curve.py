# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The loss over a stream, as a curve of bounded length."""

import numpy as np
import pytest

from proemlc_ros.core.metrics import LossCurve


def test_a_long_curve_keeps_its_sums_and_stays_short():
    wrong = np.random.default_rng(3).integers(0, 5, 10_001).tolist()
    curve = LossCurve()
    for number in wrong:
        curve.add(number, 4)
    points = curve.points()
    assert len(points) <= 1024
    assert points[-1].samples == curve.samples == 10_001
    assert points[-1].loss_so_far == pytest.approx(sum(wrong) / 40_004)
    first = points[0]
    assert first.loss == pytest.approx(sum(wrong[:first.samples]) / (4 * first.samples))


def test_a_short_curve_has_a_point_per_sample():
    curve = LossCurve()
    assert curve.points() == []
    for wrong, judged in ((1, 1), (0, 3)):
        curve.add(wrong, judged)
    assert curve.points() == [(1, 1.0, 1.0), (2, 0.0, 0.25)]
