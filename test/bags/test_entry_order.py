# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Records of a recording come in the order of their entries, as far as they belong together."""

import numpy as np
import pytest

from proemlc_ros.bags.entry_order import WINDOW, in_entry_order
from proemlc_ros.records import Annotation, StampedVector


def ordered(*entries):
    """Return the numbers as they come; entries: time and number, 0 for a vector."""
    records = [(time, Annotation(time, (), entry=entry) if entry
                else StampedVector(time, np.zeros(1, np.float32))) for time, entry in entries]
    found = list(in_entry_order(records, [one for one in entries if one[1]]))
    times = [time for time, _ in found]
    assert len(found) == len(records) and times == sorted(times)
    return [0 if isinstance(record, StampedVector) else record.entry for _, record in found]


@pytest.mark.parametrize(('recorded', 'expected'), [
    ([1, 2, 5], [1, 2, 5]),
    ([2, 1], [1, 2]),
    ([1, 4, 0, 3, 2, 5], [1, 0, 2, 3, 4, 5]),
    ([7, 9, 8, 0, 12, 10], [7, 8, 9, 0, 10, 12])])
def test_what_came_too_late_comes_in_its_place(recorded, expected):
    assert ordered(*enumerate(recorded)) == expected


def test_the_numbers_of_another_journal_wait_for_nothing():
    assert ordered((0, 7), (1, 8), (2 * WINDOW, 1), (2 * WINDOW + 1, 2)) == [7, 8, 1, 2]
