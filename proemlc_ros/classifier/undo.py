# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The lessons that can still be taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from proemlc_ros.classifier.records import Annotation


@dataclass(frozen=True, slots=True, eq=False)
class UndoEntry:
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
    """The most recent lessons, the last one first to go.

    Args:
        depth: lessons kept.
    """

    def __init__(self, depth: int) -> None:
        self._lessons: deque[UndoEntry] = deque(maxlen=depth)

    def __len__(self) -> int:
        return len(self._lessons)

    def push(self, lesson: UndoEntry) -> None:
        """Add the lesson just learnt."""
        self._lessons.append(lesson)

    def pop(self) -> UndoEntry:
        """Return the last lesson and forget it; IndexError without any."""
        return self._lessons.pop()

    def clear(self) -> None:
        """Forget all."""
        self._lessons.clear()

    def rename(self, old: str, new: str) -> None:
        """Follow a renamed label."""
        self._replace(lambda lesson: replace(
            lesson, annotation=lesson.annotation.renamed(old, new),
            introduced=tuple(new if name == old else name for name in lesson.introduced)))

    def remove(self, name: str) -> None:
        """Follow a removed label."""
        self._replace(lambda lesson: replace(
            lesson, annotation=lesson.annotation.without([name]),
            introduced=tuple(kept for kept in lesson.introduced if kept != name)))

    def to_json(self) -> list[list[Any]]:
        """Return the lessons as plain values, without the features, which the journal has."""
        return [[lesson.number, lesson.annotation.labels, lesson.annotation.absent,
                 lesson.introduced] for lesson in self._lessons]

    def restore(self, values: Iterable[list[Any]],
                find: Callable[[int], Annotation | None]) -> None:
        """Take the lessons back from plain values.

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
        self._lessons = deque(map(change, self._lessons), maxlen=self._lessons.maxlen)
