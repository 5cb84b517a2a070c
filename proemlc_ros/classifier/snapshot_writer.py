# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The thread that writes snapshots, so that neither predictions nor teaching wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.errors import ProEMLCError


class SnapshotWriter:
    """The thread that writes snapshots when they are due.

    Args:
        session: whose snapshots.
        on_error: told about failures, in words.
    """

    def __init__(self, session: DurableModel, on_error: Callable[[str], None]) -> None:
        self.every = 100
        self.period = 60.0
        self._session = session
        self._on_error = on_error
        self._due = threading.Event()
        self._stopping = False
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name='snapshots', daemon=True)
        self._thread.start()

    def consider(self) -> None:
        """Write a snapshot if enough was taught or enough time has passed since."""
        unsaved = self._session.unsaved
        if unsaved >= self.every or (
                unsaved and time.monotonic() - self._last >= self.period):
            self._due.set()

    def close(self) -> None:
        """Stop, and write what no snapshot holds yet."""
        self._stopping = True
        self._due.set()
        self._thread.join()
        if self._session.unsaved or self._session.snapshots.time is None:
            self._write()

    def _run(self) -> None:
        while True:
            self._due.wait()
            if self._stopping:
                return
            self._due.clear()
            self._write()

    def _write(self) -> None:
        try:
            self._session.snapshot()
        except (OSError, ProEMLCError) as error:
            self._on_error(f'cannot write the snapshot: {error}; the journal has everything')
        except Exception as error:  # The thread must live on.
            self._on_error(f'cannot write the snapshot: {error!r}')
        finally:
            self._last = time.monotonic()
