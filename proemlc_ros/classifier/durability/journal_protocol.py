# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a durable model needs of its journal; bags/journal/journal.py has the real one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from proemlc_ros.journal.attachments import Attachments
from proemlc_ros.records import Annotation, Event, Picture


class EntryProtocol(Protocol):
    """An entry of the journal."""

    @property
    def number(self) -> int:
        """Number of the entry; the first is 1."""

    @property
    def record(self) -> Annotation | Event | None:
        """What was learnt or done; None where it cannot be read."""

    @property
    def reference(self) -> str:
        """What an event refers to outside itself; empty for most entries."""

    @property
    def error(self) -> str:
        """Why the entry cannot be read, in words; empty where it can."""

    @property
    def time(self) -> int:
        """When it was written, in nanoseconds since the epoch."""


class JournalProtocol(Protocol):
    """An append-only, durable list of annotations and events."""

    @property
    def last_number(self) -> int:
        """Number of the last entry, 0 without any."""

    @property
    def last_write(self) -> int | None:
        """When the last entry was written, in nanoseconds since the epoch."""

    @property
    def size(self) -> int:
        """Bytes on the disk."""

    @property
    def repairs(self) -> Sequence[str]:
        """What was repaired when the journal was opened, in words."""

    @property
    def unprovable(self) -> int:
        """Number of entries without a proof, of an earlier version, when it was opened."""

    @property
    def problem(self) -> str:
        """Why nothing can be written, in words; empty where it can."""

    @property
    def over_limit(self) -> bool:
        """Whether the journal is larger than it may be."""

    @property
    def attachments(self) -> Attachments:
        """Content of the files that entries refer to."""

    def append(self, records: Sequence[Annotation | Event],
               references: Sequence[str] | None = None,
               pictures: Sequence[Picture | None] | None = None) -> list[int]:
        """Write records durably, all or none, each with its picture; return their numbers."""

    def append_late_picture(self, number: int, picture: Picture) -> int:
        """Write the picture of an annotation that is there already; return its entry's number."""

    def pictures(self) -> dict[int, int]:
        """Return the entry of the picture of each annotation that has one."""

    def picture(self, entry: int) -> Picture | None:
        """Return the picture of an entry, None where it is gone."""

    def retry(self) -> None:
        """Look whether a disk that could not be written can be by now."""

    def missing(self, after: int = 0) -> list[range]:
        """Return the numbers above `after` that have no entry."""

    def events(self, after: int = 0) -> Iterator[EntryProtocol]:
        """Yield the entries behind a number that are events."""

    def entries(self, after: int = 0) -> Iterator[EntryProtocol]:
        """Yield the entries behind a number."""

    def entry(self, number: int) -> EntryProtocol | None:
        """Return one entry, None where it is gone."""

    def references(self, prefix: str, most: int) -> list[tuple[int, str]]:
        """Return number and reference of the newest entries with such references, oldest first."""

    def continue_after(self, number: int) -> None:
        """Number new entries above this."""

    def checkpoint(self, up_to: int) -> None:
        """Note that every snapshot holds all entries up to this one."""

    def compact(self, up_to: int) -> None:
        """Drop all entries up to this one, which every snapshot holds."""

    def close(self) -> None:
        """Finish writing."""
