# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model as it was at some entry of the journal, in a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.journal_protocol import JournalProtocol
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ModelFileError


class Snapshots:
    """The snapshots of a model directory; `position` is the last entry that the newest holds.

    Args:
        directory: where they are.
        journal: told what need not be replayed any more.
        clock: nanoseconds since the epoch.
    """

    def __init__(self, directory: ModelDirectory, journal: JournalProtocol,
                 clock: Callable[[], int]) -> None:
        self.position = 0
        self.time: int | None = None
        self._directory = directory
        self._journal = journal
        self._clock = clock
        self._newest_is_whole = False
        self._lock = threading.Lock()

    def write(self, model: ProEMLC, extra: dict[str, Any]) -> None:
        """Write a snapshot, unless a newer one was written meanwhile.

        Args:
            model: nobody teaches it any more.
            extra: kept with it; 'position' is the last entry of the journal that it holds.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        with self._lock:
            if extra['position'] < self.position:
                return
            if self._newest_is_whole:  # Else the older one is worth more.
                self._directory.keep_older_snapshot()
            model.save(self._directory.snapshots[0], extra=extra)
            self._newest_is_whole = True
            self.position, self.time = extra['position'], self._clock()
        self._journal.checkpoint(self.position)

    def read(self, notes: list[str]) -> tuple[Path, ProEMLC] | None:
        """Return the newest that is whole, or None without any.

        Args:
            notes: gets a line for each that cannot be used.
        """
        for path in self._directory.snapshots:
            try:
                model = ProEMLC.load(path, max_bytes=self._directory.max_file_bytes)
                self.time = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            except (ModelFileError, OSError) as error:
                notes.append(f'{path.name} cannot be used: {error}')
                continue
            self._newest_is_whole = path == self._directory.snapshots[0]
            self.position = int(model.extra.get('position', 0))
            return path, model
        return None
