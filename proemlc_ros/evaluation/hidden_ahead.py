# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden rows, worked out in the process that reads for the one that learns.

The layer is fixed after the first samples. The learning process offers it; from then on the hidden
rows of each block come with it, and both processors have about as much to do.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core.layer.hidden import HiddenLayer, HiddenRows
from proemlc_ros.core.solving.blas import Array


class HiddenMark(NamedTuple):
    """What the hidden rows are that follow; number: of the offered layer, from 1."""

    number: int
    shape: tuple[int, int]
    dtype: str


class _Memory:
    """Memory that the rows of each block use again; new memory would take as long as filling."""

    def __init__(self) -> None:
        self._rows: Array = np.empty((0, 0))

    def rows(self, shape: tuple[int, int], dtype: str) -> Array:
        """Return room for rows."""
        rows = self._rows
        if rows.dtype != dtype or rows.shape[1] != shape[1] or len(rows) < shape[0]:
            self._rows = rows = np.empty(shape, dtype)
        return rows[:shape[0]]


class LayerOffers:
    """The end of the process that learns: offers its layer, receives hidden rows.

    Args:
        connection: Leads to `HiddenAhead`.

    """

    def __init__(self, connection: Connection) -> None:
        """Start without a layer."""
        self._connection = connection
        self._layer: HiddenLayer | None = None
        self._number = 0
        self._memory = _Memory()

    def offer(self, layer: HiddenLayer) -> None:
        """Offer a layer, unless it is the one offered last."""
        if layer is self._layer:
            return
        self._layer, self._number = layer, self._number + 1
        with suppress(BrokenPipeError):  # The other process has read everything.
            self._connection.send((self._number, layer))

    def receive(self, connection: Connection, mark: HiddenMark) -> HiddenRows | None:
        """Receive the hidden rows that a mark announces; they hold until the next ones.

        None: they are of a layer that was offered before the last one.

        Raises:
            EOFError: The other process has ended.

        """
        rows = self._memory.rows(mark.shape, mark.dtype)
        _read_into(connection, rows.data.cast('B'))
        if self._layer is None or mark.number != self._number:
            return None
        return HiddenRows(self._layer, rows)


class HiddenAhead:
    """The end of the process that reads: works out hidden rows with the layer offered last.

    Args:
        connection: Leads to `LayerOffers`.

    """

    def __init__(self, connection: Connection) -> None:
        """Start to listen; in a thread, since the other process does not wait for this one."""
        self._connection = connection
        self._offered: tuple[int, HiddenLayer] | None = None
        self._memory = _Memory()
        self._rows: Array = np.empty((0, 0))
        threading.Thread(target=self._listen, daemon=True).start()

    def prepare(self, samples: NDArray[np.float32]) -> HiddenMark | None:
        """Work out the hidden rows of samples; None: no layer was offered yet that takes them."""
        if self._offered is None or self._offered[1].width != samples.shape[1]:
            return None
        number, layer = self._offered
        mark = HiddenMark(number, (len(samples), layer.size), layer.options.dtype)
        self._rows = layer.rows(samples.astype(mark.dtype),
                                self._memory.rows(mark.shape, mark.dtype))
        return mark

    def send(self, connection: Connection) -> None:
        """Send the hidden rows that were worked out."""
        _write_all(connection, self._rows.data.cast('B'))

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._offered = self._connection.recv()


# Connection.recv_bytes_into() copies three times; here bytes go where they belong.

def _read_into(connection: Connection, room: memoryview) -> None:
    while room:
        count = os.readv(connection.fileno(), [room])
        if not count:
            raise EOFError
        room = room[count:]


def _write_all(connection: Connection, data: memoryview) -> None:
    while data:
        data = data[os.write(connection.fileno(), data):]
