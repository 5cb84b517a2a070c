# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the soak calls growing."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from soak_usage import Usage


def usage_of(memory) -> Usage:
    """Return ten lives of ten samples; memory: from the number of a sample to megabytes."""
    usage = Usage(1, Path())
    usage.rows = [{'life': number // 10, 'memory_mb': memory(number), 'threads': 22}
                  for number in range(100)]
    return usage


@pytest.mark.parametrize(('memory', 'growing'), [
    (lambda number: 160.0, []),
    (lambda number: 160.0 + number % 10, []),
    (lambda number: min(100.0 + 4 * number, 160.0), []),  # In the first two lives.
    (lambda number: 150.0 + 0.2 * number, ['memory_mb']),
    (lambda number: 160.0 + (20.0 if number == 95 else 0.0), ['memory_mb']),  # Peaks count.
], ids=['flat', 'within each life', 'at first', 'all the time', 'a late peak'])
def test_growth_is_told_from_a_plateau(memory, growing):
    assert usage_of(memory).growing() == growing
