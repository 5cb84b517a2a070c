# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden rows, worked out in the process that reads for the one that learns.

The layer is fixed after the first samples. The learning process offers it; from then on the hidden
rows of each block are in memory that both share, and both processors have about as much to do.
"""

from __future__ import annotations

import mmap
import os
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core.layer.hidden import HiddenLayer, HiddenRows
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


class HiddenMark(NamedTuple):
    """Where the hidden rows of a block are; number: of the offered layer, from 1."""

    number: int
    rows: PlacedRows


class LayerOffers:
    """The end of the process that learns: offers its layer, uses hidden rows.

    Args:
        connection: Leads to `HiddenAhead`.
        shared: Where the rows are.

    """

    def __init__(self, connection: Connection, shared: SharedRows) -> None:
        """Start without a layer."""
        self._connection = connection
        self._shared = shared
        self._layer: HiddenLayer | None = None
        self._number = 0
        self._used = False

    def offer(self, layer: HiddenLayer) -> None:
        """Offer a layer, unless it is the one offered last."""
        if layer is not self._layer:
            self._layer, self._number = layer, self._number + 1
            self._send((self._number, layer))

    def rows(self, mark: HiddenMark) -> HiddenRows | None:
        """Return the hidden rows of a mark, which hold until they are released.

        None: they are of a layer that was offered before the last one.
        """
        self._used = True
        if self._layer is None or mark.number != self._number:
            return None
        return HiddenRows(self._layer, self._shared.at(mark.rows))

    def release(self) -> None:
        """Let the other process fill the place of the rows that were used last."""
        if self._used:
            self._used = False
            self._send(None)

    def _send(self, item: tuple[int, HiddenLayer] | None) -> None:
        with suppress(BrokenPipeError):  # The other process has read everything.
            self._connection.send(item)


class HiddenAhead:
    """The end of the process that reads: works out hidden rows with the layer offered last.

    Args:
        connection: Leads to `LayerOffers`.
        shared: Where to put the rows.

    """

    def __init__(self, connection: Connection, shared: SharedRows) -> None:
        """Start to listen; in a thread, since the other process does not wait for this one."""
        self._connection = connection
        self._shared = shared
        self._offered: tuple[int, HiddenLayer] | None = None
        self._free = threading.Semaphore(PLACES)
        self._place = 0
        self._ended = False
        threading.Thread(target=self._listen, daemon=True).start()

    def prepare(self, samples: NDArray[np.float32]) -> HiddenMark | None:
        """Work out the hidden rows of samples; None: no layer was offered yet that takes them.

        Raises:
            BrokenPipeError: The other process uses no rows any more.

        """
        if self._offered is None or self._offered[1].width != samples.shape[1]:
            return None
        number, layer = self._offered
        rows = PlacedRows(self._place, (len(samples), layer.size), layer.options.dtype)
        if not rows.fits:
            return None
        self._free.acquire()
        if self._ended:
            raise BrokenPipeError
        self._place = (self._place + 1) % PLACES
        layer.rows(samples.astype(rows.dtype), self._shared.at(rows))
        return HiddenMark(number, rows)

    def _listen(self) -> None:
        """Take the layers that are offered, and note which places were released."""
        with suppress(EOFError, OSError):
            while True:
                item: tuple[int, HiddenLayer] | None = self._connection.recv()
                if item is None:
                    self._free.release()
                else:
                    self._offered = item
        self._ended = True
        self._free.release()


def _attached(handle: Any) -> SharedRows:
    return SharedRows(handle.detach())


def _new_file() -> Any:
    # A file without a name, in memory where there is such a thing (Linux); never on a small
    # /dev/shm, as containers have it.
    file = (os.fdopen(os.memfd_create('proemlc'), 'r+b') if hasattr(os, 'memfd_create')
            else TemporaryFile())
    file.truncate(PLACES * _BYTES)
    return file
