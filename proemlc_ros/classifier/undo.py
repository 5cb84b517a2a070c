# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The annotations that can still be undone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from proemlc_ros.records import Annotation


class UndoEntry(NamedTuple):
    """An annotation that was learnt.

    Args:
        number: of its journal entry.
        annotation: with features; names as they are now, after renames and removals.
        introduced: labels that did not exist before it.
    """

    number: int
    annotation: Annotation
    introduced: tuple[str, ...] = ()


class UndoStack:
    """The annotations learnt most recently; the last one is undone first.

    Args:
        depth: entries kept.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._entries: deque[UndoEntry] = deque(maxlen=depth)

    def __iter__(self) -> Iterator[UndoEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, entry: UndoEntry) -> None:
        """Add the annotation just learnt."""
        self._entries.append(entry)

    @property
    def last(self) -> UndoEntry:
        """The entry that is undone first; IndexError without any."""
        return self._entries[-1]

    def pop(self) -> UndoEntry:
        """Return the last entry and remove it; IndexError without any."""
        return self._entries.pop()

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()

    def rename(self, old: str, new: str) -> None:
        """Follow a renamed label."""
        self._replace(lambda entry: entry._replace(
            annotation=entry.annotation.renamed(old, new),
            introduced=tuple(new if name == old else name for name in entry.introduced)))

    def remove(self, name: str) -> None:
        """Follow a removed label."""
        self._replace(lambda entry: entry._replace(
            annotation=entry.annotation.without([name]),
            introduced=tuple(kept for kept in entry.introduced if kept != name)))

    def to_json(self) -> list[list[Any]]:
        """Return the entries as plain values, without the features, which the journal has."""
        return [[entry.number, entry.annotation.labels, entry.annotation.absent,
                 entry.introduced] for entry in self._entries]

    def restore(self, values: Iterable[list[Any]],
                find: Callable[[int], Annotation | None]) -> None:
        """Restore the entries from plain values.

        Args:
            values: as `to_json` gave them.
            find: returns the annotation of a journal entry, None where it is gone.
        """
        self.clear()
        for number, labels, absent, introduced in values:
            annotation = find(number)
            if annotation is None:
                self.clear()  # Nothing below a missing one can be reached.
                continue
            learnt = annotation._replace(labels=tuple(labels), absent=tuple(absent))
            self.push(UndoEntry(number, learnt, tuple(introduced)))

    def _replace(self, change: Callable[[UndoEntry], UndoEntry]) -> None:
        self._entries = deque(map(change, self._entries), maxlen=self._entries.maxlen)
