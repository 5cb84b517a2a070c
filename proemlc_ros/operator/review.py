# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What was taught, as operators look through it and correct it, without ROS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from proemlc_ros.operator.actions import ActionResult

ORDERS = ('newest', 'oldest', 'doubtful')
"""Orders of a list of samples, as ListSamples numbers them."""


@dataclass(frozen=True, slots=True)
class SampleCard:
    """One learnt sample, for people.

    Args:
        number: by which it is known.
        taught: seconds since 1970.
        labels: that are present.
        absent: that are absent, where not complete.
        complete: whether all other labels are absent.
        who: has taught it.
        picture: whether there is a picture of it.
        doubt: how much the others contradict it; None where not asked for.
        doubtful: the label that they contradict most, empty where none.
        expected: labels that the others would give it.
    """

    number: int
    taught: float
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True
    who: str = ''
    picture: bool = False
    doubt: float | None = None
    doubtful: str = ''
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleList:
    """A page of samples, how many there are in all, and who has taught them."""

    total: int = 0
    samples: list[SampleCard] = field(default_factory=list)
    people: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One step of the history, for people.

    Args:
        number: by which it is known.
        time: seconds since 1970.
        text: what was done.
        who: did it.
        sample: that it is about; 0: none.
        undone: whether it is undone.
        group: of steps that are undone together; empty: none.
    """

    number: int
    time: float
    text: str
    who: str = ''
    sample: int = 0
    undone: bool = False
    group: str = ''


@dataclass(frozen=True, slots=True)
class HistoryList:
    """A page of the history, newest first, and what undo and redo would change next."""

    total: int = 0
    steps: list[HistoryLine] = field(default_factory=list)
    undo: list[HistoryLine] = field(default_factory=list)
    redo: list[HistoryLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """Which samples to list; see `SampleQuery` of the classifier."""

    label: str = ''
    who: str | None = None
    order: str = 'newest'
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class FileLine:
    """A model file: name, bytes, seconds since 1970."""

    name: str
    size: int
    time: float


class ReviewActions(Protocol):
    """The classifier's services for what was taught; `who` is the operator."""

    async def samples(self, choice: SampleChoice) -> SampleList:
        """Return a page of the learnt samples."""

    async def picture(self, number: int) -> bytes | None:
        """Return the picture of a sample as a JPEG; None where there is none."""

    async def change_samples(self, who: str, numbers: list[int], labels: tuple[str, ...],
                             remove: bool) -> ActionResult:
        """Give samples other labels, or delete them."""

    async def merge_labels(self, who: str, label: str, into: str) -> ActionResult:
        """Make one label part of another."""

    async def turn(self, who: str, undo: bool, steps: list[int], mine: bool) -> ActionResult:
        """Undo steps, or make them again; only if these are the next ones."""

    async def history(self, who: str, mine: bool, offset: int, limit: int) -> HistoryList:
        """Return a page of the history."""

    async def models(self) -> list[FileLine]:
        """Return the files that can be loaded, the last changed first."""

    async def reembed(self, who: str, sensors_file: str) -> ActionResult:
        """Make all features again from the kept pictures, with another extractor."""


def history_words(steps: list[HistoryLine], mine: str = '') -> str:
    """Return steps in words, such as "taught 'cup' (Ada)"; empty without any.

    >>> history_words([HistoryLine(7, 0.0, "taught 'cup'", 'Ada')])
    "taught 'cup' (Ada)"
    """
    if not steps:
        return ''
    text = steps[0].text if len(steps) == 1 else f'{steps[0].text}, {len(steps)} times'
    return f'{text} ({steps[0].who})' if steps[0].who and steps[0].who != mine else text
