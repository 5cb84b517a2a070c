# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Memory that two processes share: one fills it with rows, the other uses them."""

from __future__ import annotations

import mmap
import os
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.core.solving.blas import Array

# Blocks that may be filled or in use: neither process waits for a single slow block of the other.
PLACES = 4
# Bytes of a place. The system gives memory for those that are used; 512 rows of 500 take 2 MB.
_BYTES = 1 << 26


class PlacedRows(NamedTuple):
    """Where rows are; place: from 0."""

    place: int
    shape: tuple[int, int]
    dtype: str

    @property
    def fits(self) -> bool:
        """Whether a place is large enough."""
        return self.shape[0] * self.shape[1] * np.dtype(self.dtype).itemsize <= _BYTES


class SharedRows:
    """Some places for rows; the same memory in a process that it is sent to as it starts.

    Args:
        descriptor: of the memory; None: of new memory, which goes with the last process.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = _new_file() if descriptor is None else os.fdopen(descriptor, 'r+b')
        self._memory = mmap.mmap(self._file.fileno(), PLACES * _BYTES)

    def at(self, rows: PlacedRows) -> Array:
        """Return the rows of a place, to be filled or used."""
        count = rows.shape[0] * rows.shape[1]
        found: Array = np.frombuffer(self._memory, rows.dtype, count, rows.place * _BYTES)
        return found.reshape(rows.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the start of a process."""
        return _attached, (DupFd(self._file.fileno()),)


def _attached(handle: Any) -> SharedRows:
    return SharedRows(handle.detach())


def _new_file() -> Any:
    # A file without a name, in memory where there is such a thing (Linux); never on a small
    # /dev/shm, as containers have it.
    file = (os.fdopen(os.memfd_create('proemlc'), 'r+b') if hasattr(os, 'memfd_create')
            else TemporaryFile())
    file.truncate(PLACES * _BYTES)
    return file
