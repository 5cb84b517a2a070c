# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A journal that is only read, by other programs than the classifier that writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from proemlc_ros.cdr import read_picture
from proemlc_ros.errors import BagError
from proemlc_ros.journal.check import JOURNAL, journal_files, readable
from proemlc_ros.journal.entries import (
    EVENT_TOPIC,
    PICTURE_TOPIC,
    RECORD_TOPICS,
    JournalEntry,
    Pair,
    decode,
    pictures_of,
)
from proemlc_ros.journal.sqlite_file import SqliteFile
from proemlc_ros.journal.table import History, is_correction
from proemlc_ros.records import Annotation, Event, Picture


class StoredJournal:
    """The entries of a journal's folder.

    Args:
        folder: of the journal.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, path: Path) -> StoredJournal | None:
        """Return the journal of a folder; None where it is another bag, or not readable so."""
        files = journal_files(path) if path.is_dir() else []
        for file in files:
            with suppress(OSError, sqlite3.Error), readable(file) as copy, closing(
                    SqliteFile(copy, read_only=True)) as opened:
                if opened.has_records:
                    return cls(path)
        # The first versions wrote no records.
        return cls(path) if files and path.resolve().name == JOURNAL else None

    def is_corrected(self) -> bool:
        """Tell whether an entry changes what an earlier one did, beside undoing the last one."""
        return any(isinstance(entry.record, Event) and is_correction(entry.record)
                   for entry in map(decode, self._pairs([EVENT_TOPIC])))

    def has_pictures(self) -> bool:
        """Tell whether it has a picture."""
        return next(self._pairs([PICTURE_TOPIC]), None) is not None

    def records(self) -> Iterator[tuple[int, Annotation | Event]]:
        """Yield time and record of what can be read, each record with the number of its entry."""
        for entry in self._entries():
            if entry.record is not None:
                yield entry.time, entry.record._replace(entry=entry.number)

    def samples(self) -> Iterator[tuple[int, int, Annotation]]:
        """Yield number, time and annotation of the samples in force, with their labels now."""
        history = History()
        history.follow(self._entries())
        for entry in self._entries():
            sample = history.samples.get(entry.number)
            if sample is not None and isinstance(entry.record, Annotation):
                yield (entry.number, entry.time,
                       sample._replace(features=entry.record.features))

    def pictures(self) -> Iterator[tuple[int, Picture]]:
        """Yield the number of each annotation that has a picture, with the picture."""
        for (number, _, _, data), record in self._pairs([PICTURE_TOPIC]):
            owner = pictures_of([(number, '' if record is None else record.reference)])
            for annotation in owner:
                yield annotation, read_picture(data)

    def _entries(self) -> Iterator[JournalEntry]:
        return map(decode, self._pairs(RECORD_TOPICS))

    def _pairs(self, topics: tuple[int, ...] | list[int]) -> Iterator[Pair]:
        try:
            for path in journal_files(self._folder):
                with readable(path) as file, closing(SqliteFile(file, read_only=True)) as opened:
                    yield from ((row, record) for row, record in opened.entries(0, topics)
                                if row is not None)
        except (OSError, sqlite3.Error) as error:
            raise BagError(f'{self._folder}: the journal cannot be read: {error}') from error
