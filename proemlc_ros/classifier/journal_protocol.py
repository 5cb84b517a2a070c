# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a durable model needs of its journal; bags/journal.py has the real one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from proemlc_ros.classifier.records import Annotation, Event


class EntryProtocol(Protocol):
    """An entry of the journal."""

    @property
    def number(self) -> int:
        """Number of the entry; the first is 1."""

    @property
    def record(self) -> Annotation | Event:
        """What was learnt or done."""


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

    def append(self, records: Sequence[Annotation | Event]) -> list[int]:
        """Write records durably, all or none; return their numbers."""

    def entries(self, after: int = 0) -> Iterator[EntryProtocol]:
        """Yield the entries behind a number."""

    def entry(self, number: int) -> EntryProtocol | None:
        """Return one entry, None where it is gone."""

    def continue_after(self, number: int) -> None:
        """Number new entries above this."""

    def checkpoint(self, up_to: int) -> None:
        """Note that a snapshot holds all entries up to this one."""

    def close(self) -> None:
        """Finish writing."""
