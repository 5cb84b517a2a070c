# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden rows, worked out in the process that reads for the one that learns.

The layer is fixed after the first samples. The learning process offers it; from then on the hidden
rows of each block are in memory that both share, and both processors have about as much to do.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.core.layer.hidden import HiddenLayer, HiddenRows
from proemlc_ros.evaluation.shared_rows import PLACES, PlacedRows, SharedRows


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
