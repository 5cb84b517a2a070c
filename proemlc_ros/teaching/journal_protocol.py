# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What teaching needs of a journal, whoever writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from proemlc_ros.teaching.events import Event
from proemlc_ros.teaching.moments import Annotation


class Entry(Protocol):
    """A line of the journal."""

    number: int
    statement: Annotation | Event


class Journal(Protocol):
    """What a session needs of a journal."""

    @property
    def last_number(self) -> int:
        """Number of the last entry."""

    def append(self, statements: Sequence[Annotation | Event]) -> list[int]:
        """Write statements durably; return their numbers."""

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries behind a number."""

    def entry(self, number: int) -> Entry | None:
        """Return one entry."""

    def continue_after(self, number: int) -> None:
        """Number new entries above this."""

    def checkpoint(self, up_to: int) -> None:
        """Note that a snapshot holds all entries up to this one."""
