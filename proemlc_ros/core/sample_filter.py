# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A record, of fixed size, of which samples have been learnt."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.rows import Rows, is_sparse

_TABLES, _SIZE = 4, 1 << 16
_FULL = (1 << 16) - 1
# Spreads a checksum over 64 bits (Fibonacci hashing).
_SPREAD = 0x9E3779B97F4A7C15


class SampleFilter:
    """Counts samples by checksum, so that one that was never learnt is not taken back.

    A counting Bloom filter: a learnt sample is always found; one that was never learnt is mistaken
    for a learnt one with a probability of (1 - exp(-n / 65536))^4 after n samples: 4e-4 after
    10,000, one in three after 100,000.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.counts: npt.NDArray[np.uint16] = np.zeros(_TABLES * _SIZE, dtype=np.uint16)
        # Single numbers are read and written four times faster through it.
        self._view = memoryview(self.counts)  # type: ignore[arg-type]

    def add(self, checksum: int) -> None:
        """Note a learnt sample."""
        view = self._view
        for place in _places(checksum):
            if view[place] < _FULL:
                view[place] += 1

    def add_all(self, checksums: list[int]) -> None:
        """Note learnt samples."""
        # Products wrap around at 64 bits, of which the places use the lower 48.
        places, times = np.unique(
            np.concatenate(_places(np.array(checksums, dtype=np.uint64))), return_counts=True)
        self.counts[places] = np.minimum(self.counts[places] + times, _FULL)

    def remove(self, checksum: int) -> None:
        """Strike a sample out; it must be there."""
        view = self._view
        for place in _places(checksum):
            if view[place] < _FULL:  # a full counter no longer knows its number
                view[place] -= 1

    def __contains__(self, checksum: int) -> bool:
        """Whether the sample may have been learnt; False is certain."""
        return all(self._view[place] for place in _places(checksum))

    def merge(self, other: SampleFilter) -> None:
        """Note all samples of another ledger."""
        total = self.counts.astype(np.uint32) + other.counts
        self.counts[:] = np.minimum(total, _FULL)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes without the view."""
        return _restore, (self.counts,)

    def copy(self) -> SampleFilter:
        """Return an independent copy."""
        return _restore(self.counts)


def _restore(counts: npt.NDArray[np.uint16]) -> SampleFilter:
    ledger = SampleFilter()
    ledger.counts[:] = counts
    return ledger


def checksum_of_vector(vector: npt.NDArray[np.floating], complete: bool) -> int:
    """Return the checksum of one contiguous dense sample."""
    return zlib.crc32(vector, complete)  # type: ignore[arg-type]


def checksums_of_rows(rows: Rows, completes: list[bool]) -> list[int]:
    """Return the checksum of each row; of a sparse row that of its entries."""
    if not is_sparse(rows):
        return [zlib.crc32(row, complete) for row, complete in zip(rows, completes)]
    ends = rows.indptr.tolist()
    places, values = rows.indices.astype(np.int64, copy=False), rows.data
    return [zlib.crc32(values[start:stop], zlib.crc32(places[start:stop], complete))
            for start, stop, complete in zip(ends, ends[1:], completes)]


def _places(checksum: Any) -> tuple[Any, Any, Any, Any]:
    """Return the counters of a checksum; of an array of them, arrays."""
    spread = checksum * _SPREAD >> 16
    return (checksum & _FULL, (checksum >> 16) + _SIZE, (spread & _FULL) + 2 * _SIZE,
            (spread >> 16 & _FULL) + 3 * _SIZE)
