# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What teaching needs of a journal, whoever writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from proemlc_ros.classifier.records import Annotation, Event


class EntryProtocol(Protocol):
    """A line of the journal."""

    number: int
    statement: Annotation | Event


class JournalProtocol(Protocol):
    """What a session needs of a journal."""

    @property
    def last_number(self) -> int:
        """Number of the last entry."""

    def append(self, statements: Sequence[Annotation | Event]) -> list[int]:
        """Write statements durably; return their numbers."""

    def entries(self, after: int = 0) -> Iterator[EntryProtocol]:
        """Yield the entries behind a number."""

    def entry(self, number: int) -> EntryProtocol | None:
        """Return one entry."""

    def continue_after(self, number: int) -> None:
        """Number new entries above this."""

    def checkpoint(self, up_to: int) -> None:
        """Note that a snapshot holds all entries up to this one."""
