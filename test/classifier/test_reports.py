# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics."""

from __future__ import annotations

import math

import pytest

from proemlc_ros.classifier.classifier import LatencyWindow, RateMeter, Silence

SECOND = 1_000_000_000


def test_rates_and_latencies():
    meter = RateMeter()
    assert meter.read(0) == 0.0
    for _ in range(5):
        meter.count()
    assert meter.read(2 * SECOND) == 2.5
    assert meter.read(3 * SECOND) == 0.0
    window = LatencyWindow(size=3)
    assert all(map(math.isnan, window.percentiles()))
    for value in (1, 2, 3, 4):
        window.add(value * 1_000_000)
    assert window.percentiles((50,)) == [pytest.approx(3.0)]


def test_silence_lasts_until_the_counter_grows():
    now = [10.0]
    silence = Silence(lambda: now[0])
    now[0] = 14.0
    assert silence.seconds(0) == 4.0
    assert silence.seconds(1) == 0.0
    now[0] = 15.5
    assert silence.seconds(1) == 1.5
