# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the model: the newest, and the one before it should the newest be damaged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import CorruptModelError, ModelFileError
from proemlc_ros.journal.attachments import position_of
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.proof import LARGEST_NUMBER


class Snapshots:
    """The snapshots of a model directory.

    Args:
        directory: where they are.
        journal: learns which entries need not be replayed any more.
        clock: nanoseconds since the epoch.

    Attributes:
        position: number of the last entry that the newest one holds.
        version: of the label set of the one that was read.
        time: when the newest one was written, nanoseconds since the epoch.
    """

    def __init__(self, directory: ModelDirectory, journal: Journal,
                 clock: Callable[[], int]) -> None:
        self.position = self.version = 0
        self.time: int | None = None
        self._directory = directory
        self._journal = journal
        self._clock = clock
        self._newest_is_whole = False
        # Of the older snapshot; 0 where there is none, or it was not read.
        self._older_position = 0
        self._lock = threading.Lock()

    @property
    def oldest_position(self) -> int:
        """The last entry that every snapshot holds from which a run may have to begin."""
        return min(self.position, self._older_position)

    def write(self, model: ProEMLC, extra: dict[str, Any]) -> None:
        """Write a snapshot, unless a newer one was written meanwhile.

        Args:
            model: a copy that does not learn any more.
            extra: kept with it; 'position' is the last entry of the journal that it holds.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        with self._lock:
            if extra['position'] < self.position:
                return
            # Where the newest is not whole, the older one is worth more.
            if self._newest_is_whole and self._directory.keep_older_snapshot():
                self._older_position = self.position
            model.save(self._directory.snapshots[0], extra, self._directory.key)
            self._newest_is_whole = True
            self.position, self.time = extra['position'], self._clock()
        self._journal.checkpoint(self.oldest_position)

    def read(self, notes: list[str]) -> tuple[Path, ProEMLC] | None:
        """Return the newest snapshot that is whole, or None without any.

        Args:
            notes: gets a line for each that cannot be used.
        """
        newest, older = self._directory.snapshots
        for path in (newest, older):
            try:
                model = self._load(path)
                self.time = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            except (ModelFileError, OSError) as error:
                notes.append(f'{path.name} cannot be used: {error}')
                continue
            self._newest_is_whole = path == newest
            self.position = position_of(model)
            self.version = int(model.extra.get('label_set_version', 0))
            self._older_position = 0 if path == newest else self.position
            return path, model
        return None

    def stored(self) -> Iterator[tuple[int, ProEMLC]]:
        """Yield each snapshot that can be read, newest first, with its position."""
        for path in self._directory.snapshots:
            with suppress(ModelFileError, OSError):
                model = self._load(path)
                yield position_of(model), model

    @staticmethod
    def not_learnt(model: ProEMLC) -> list[int]:
        """Return the numbers of entries that the model of a snapshot has rejected."""
        numbers = model.extra.get('not_learnt')
        return [number for number in numbers if isinstance(number, int)] if isinstance(
            numbers, list) else []

    def _load(self, path: Path) -> ProEMLC:
        model = ProEMLC.load(path, max_bytes=self._directory.max_file_bytes)
        _check_extra(model.extra)
        return model


def _check_extra(extra: dict[str, Any]) -> None:
    """Check what a snapshot keeps beside the model; a checksum does not prove who wrote it.

    Raises:
        CorruptModelError: a value is not what a snapshot has there.
    """
    numbers = [extra.get(name, 0) for name in ('position', 'label_set_version')]
    entries = extra.get('lessons', [])
    if not isinstance(entries, list) or not all(
            isinstance(entry, list) and len(entry) == 4 for entry in entries):
        raise CorruptModelError('the annotations that can be undone are not a list of entries')
    names = [names for _, *lists in entries for names in lists]
    if not all(type(number) is int and 0 <= number <= LARGEST_NUMBER
               for number in (*numbers, *(entry[0] for entry in entries))):
        raise CorruptModelError('position, version or entry is not a number')
    if not all(isinstance(some, list) and all(isinstance(name, str) for name in some)
               for some in names):
        raise CorruptModelError('the labels of an annotation are not names')
