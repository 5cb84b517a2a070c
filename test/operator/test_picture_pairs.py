# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures and the predictions about them."""

from proemlc_ros.operator import picture_pairs
from proemlc_ros.operator.picture_pairs import PicturePairs

SECOND = 1_000_000_000


def test_whichever_comes_first():
    pairs = PicturePairs()
    assert pairs.add_picture(1, 'one', 10) is None
    assert pairs.add_stamp(1) == 'one'
    assert pairs.add_stamp(2) is None
    assert pairs.add_picture(3, 'three', 10) is None
    assert pairs.add_picture(2, 'two', 10) == 2
    assert pairs.add_picture(2, 'again', 10) is None  # nobody waits any more
    assert pairs.find(2) == 'again' and pairs.find(4) is None


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(picture_pairs, 'MAX_BYTES', 100)
    pairs = PicturePairs()
    for stamp in range(200):
        pairs.add_picture(stamp, stamp, 30)
        pairs.add_stamp(-stamp - 1)
    assert [pairs.find(stamp) for stamp in (196, 197, 199)] == [None, 197, 199]
    assert pairs.add_picture(-200, 'late', 1000) == -200
    assert pairs.add_picture(-1, 'too late', 1) is None
    assert pairs.find(-200) is None and pairs.find(-1) == 'too late'


def test_within_a_tolerance_only_where_one_is_set():
    exact, near = PicturePairs(), PicturePairs(SECOND)
    for pairs in (exact, near):
        pairs.add_picture(5 * SECOND, 'five', 10)
        pairs.add_picture(7 * SECOND, 'seven', 10)
    assert exact.add_stamp(6 * SECOND + 1) is None
    assert near.add_stamp(6 * SECOND + 1) == 'seven'
    assert near.add_stamp(9 * SECOND) is None
    near.clear()
    assert near.find(5 * SECOND) is None
