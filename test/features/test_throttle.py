# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Warnings by cause are said once a period, with the number held back."""

from proemlc_ros.features.throttle import Throttle

SECOND = 1_000_000_000


def test_the_same_waits_and_is_counted():
    throttle = Throttle(5.0)
    assert throttle.due('cut', 0) == 0
    assert [throttle.due('cut', k * SECOND) for k in (1, 2, 4)] == [None, None, None]
    assert throttle.due('cut', 5 * SECOND) == 3
    assert throttle.due('cut', 10 * SECOND) == 0


def test_another_does_not_wait():
    throttle = Throttle(5.0)
    assert throttle.due('cut', 0) == 0 and throttle.due('empty', 0) == 0
