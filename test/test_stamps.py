# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps of headers in nanoseconds, and the buffer by stamp."""

from types import SimpleNamespace

import pytest

from proemlc_ros.stamps import NANOSECONDS as SECOND
from proemlc_ros.stamps import StampBuffer, seconds, stamp_of


def test_a_stamp_is_in_nanoseconds():
    header = SimpleNamespace(stamp=SimpleNamespace(sec=3, nanosec=7))
    assert stamp_of(header) == 3_000_000_007


@pytest.mark.parametrize('header', [None, SimpleNamespace()])
def test_no_stamp_is_zero(header):
    assert stamp_of(header) == 0


def test_stamps_are_written_as_ros_does():
    assert seconds(12_000_000_034) == '12.000000034'


def test_whichever_comes_first_finds_the_other_once():
    pictures, waiting = StampBuffer(60), StampBuffer(60)
    pictures.put(1, 'one', 10)
    assert pictures.find(1) == 'one' and waiting.pop(1) is None
    waiting.put(2, 2)
    assert waiting.pop(3) is None
    assert waiting.pop(2) == 2 and waiting.pop(2) is None  # nobody waits any more
    pictures.put(2, 'two', 10)
    pictures.put(2, 'again', 10)
    assert pictures.find(2) == 'again' and pictures.find(4) is None
    assert (len(pictures), pictures.bytes, pictures.duplicates) == (2, 20, 1)


def test_memory_is_bounded_by_count_and_bytes():
    pictures, waiting = StampBuffer(60, max_bytes=100), StampBuffer(60)
    dropped = [stamp for number in range(200) for stamp, _ in pictures.put(number, number, 30)]
    for stamp in range(200):
        waiting.put(-stamp - 1, stamp)
    assert [pictures.find(stamp) for stamp in (196, 197, 199)] == [None, 197, 199]
    assert dropped == list(range(197)) and list(pictures) == [197, 198, 199]
    assert waiting.pop(-200) == 199 and waiting.pop(-1) is None
    pictures.put(-200, 'large', 1000)  # One is kept, however large.
    assert list(pictures) == ['large'] and pictures.span == (-200, -200)
    pictures.put(-1, 'small', 1)
    assert pictures.find(-200) is None and pictures.find(-1) == 'small'


def test_within_a_tolerance_only_where_one_is_set():
    exact, near = StampBuffer(60), StampBuffer(60, tolerance=SECOND)
    for buffer in (exact, near):
        buffer.put(5 * SECOND, 'five')
        buffer.put(7 * SECOND, 'seven')
    assert exact.find(6 * SECOND + 1) is None
    assert near.find(6 * SECOND + 1) == 'seven' and near.find(9 * SECOND) is None
    assert near.pop(4 * SECOND) == 'five' and near.span == (7 * SECOND, 7 * SECOND)
    near.clear()
    assert near.find(7 * SECOND) is None and len(near) == 0


def test_what_is_held_outlives_the_stream_and_takes_what_comes_later():
    buffer = StampBuffer(2, max_held=2)
    buffer.put(1, 'left', key='l')
    assert buffer.hold(1) and not buffer.hold(9)
    buffer.put(1, 'right', key='r')
    for stamp in (2, 3, 4, 9, 10, 11):
        buffer.put(stamp, stamp)
    assert {item for item, _ in buffer.at(1).values()} == {'left', 'right'}
    assert buffer.find(9) == 9 and buffer.find(4) is None
    buffer.hold(20, 'brought')
    assert buffer.find(20) == 'brought' and not buffer.at(1)  # the first held is dropped


def test_items_of_one_stamp_stay_together_up_to_a_bound():
    buffer = StampBuffer(2, max_together=4)
    for key in range(6):
        buffer.put(7, key, key=key)
    assert list(buffer) == [2, 3, 4, 5]
    assert buffer.put(8, 'next') == [(7, 2), (7, 3), (7, 4), (7, 5)]
