# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of a kind are written once a period, with the number held back."""

import pytest

from proemlc_ros.nodes.throttled_log import ThrottledLog


class Times:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def said():
    return []


@pytest.fixture
def times():
    return Times()


@pytest.fixture
def log(said, times):
    return ThrottledLog(said.append, 5.0, times)


def test_the_same_waits_and_is_counted(log, said, times):
    for times.now in (0, 1, 2, 4):
        log.say('cut', f'cut at {times.now}')
    assert said == ['cut at 0']
    for times.now in (5, 10):
        log.say('cut', f'cut at {times.now}')
    assert said[1:] == ['cut at 5 (3 more like it since the last line)', 'cut at 10']


def test_another_kind_does_not_wait(log, said):
    log.say('cut', 'cut')
    log.say('empty', 'empty')
    assert said == ['cut', 'empty']


def test_the_period_may_change(log, said, times):
    log.say('cut', 'first')
    log.period, times.now = 0.5, 1
    log.say('cut', 'second')
    assert said == ['first', 'second']
