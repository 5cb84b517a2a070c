# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The history of a model: what every entry of the journal did, and what is in force of it.

The meaning of a journal: all its steps in order, except those that were undone. A step is an
annotation or an event other than undo and redo; it may be undone and made again at any time, and
counts at its own place in the order then. So a history has no branches, and two people can take
back their own steps independently of each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import takewhile
from typing import NamedTuple

from proemlc_ros.classifier.corrections.rebuild import undone_number
from proemlc_ros.classifier.durability.journal_protocol import EntryProtocol
from proemlc_ros.records import REQUEST_PREFIX, Annotation, ClientRequest, Event, EventKind

# Requests of clients that record many samples as one step.
_BURST = re.compile(r'(burst:[0-9a-f]{12}):\d{1,9}')
LABEL_CHANGES = (EventKind.RENAME, EventKind.REMOVE, EventKind.MERGE_LABELS)
# What gives the model another beginning: the samples before it are not part of the model.
BEGINNINGS = (EventKind.LOAD, EventKind.RESET)
_CORRECTIONS = (EventKind.RELABEL, EventKind.DELETE, EventKind.MERGE_LABELS, EventKind.REDO)


class ModelStep(NamedTuple):
    """A change of the model that can be undone.

    Args:
        number: of its journal entry.
        time: nanoseconds since the epoch, when it was written.
        record: the annotation without features, or the event.
        group: of steps that are undone together, such as a burst; empty: none.
    """

    number: int
    time: int
    record: Annotation | Event
    group: str = ''

    @property
    def kind(self) -> EventKind | None:
        """Kind of the event; None for an annotation."""
        return self.record.kind if isinstance(self.record, Event) else None

    @property
    def annotator(self) -> str:
        """Who did it; empty where not stated."""
        return self.record.annotator

    @property
    def sample(self) -> int:
        """The sample concerned; 0 where none is."""
        return self.record.sample if isinstance(self.record, Event) else self.number


class History:
    """The steps of a journal and the samples that are in force.

    Attributes:
        steps: all of them by number, oldest first.
        undone: numbers of the steps that are undone, the last undone one last.
        last: number of the last entry that was read.
    """

    def __init__(self) -> None:
        self.steps: dict[int, ModelStep] = {}
        self.undone: dict[int, int] = {}
        self.last = 0
        self._samples: dict[int, Annotation] = {}
        self._origin = 0
        # Number of each entry that changes what an earlier one did, and of the earliest such.
        self._reaches: list[tuple[int, int]] = []
        self._outdated = False
        self._corrected = False

    def follow(self, entries: Iterable[EntryProtocol]) -> None:
        """Take note of the entries behind the last one."""
        for entry in entries:
            self.add(entry.number, entry.time, entry.record, undone_number(entry),
                     group_of(entry.reference))

    def add(self, number: int, time: int, record: Annotation | Event | None,
            undone: int | None = None, group: str = '') -> None:
        """Take note of one entry.

        Args:
            number: of the entry.
            time: when it was written.
            record: what it says; None where it cannot be read.
            undone: number of the entry that an undo of an earlier version refers to.
            group: of an annotation that belongs to others.
        """
        self.last = number
        if isinstance(record, Annotation):
            bare = record._replace(features=None, request=None)
            self.steps[number] = ModelStep(number, time, bare, group)
            self._samples[number] = bare
        elif isinstance(record, Event) and record.kind in (EventKind.UNDO, EventKind.REDO):
            self._turn(number, record, record.sample or undone or self._last_sample())
        elif record is not None:
            self._corrected |= is_correction(record)
            self.steps[number] = ModelStep(number, time, record)
            if record.kind in (EventKind.RELABEL, EventKind.DELETE):
                self._reaches.append((number, record.sample))
            self._apply(self.steps[number])

    def copy(self) -> History:
        """Return an independent copy."""
        twin = copy(self)
        twin.steps, twin.undone = dict(self.steps), dict(self.undone)
        twin._samples, twin._reaches = dict(self._samples), list(self._reaches)
        return twin

    def forget(self, up_to: int) -> None:
        """Leave out all up to a number, as if the journal had begun behind it."""
        if not self.steps or next(iter(self.steps)) > up_to:
            return
        self._bring_up_to_date()
        self.steps = {number: step for number, step in self.steps.items() if number > up_to}
        self.undone = {step: number for step, number in self.undone.items() if number > up_to}
        self._samples = {number: sample for number, sample in self._samples.items()
                         if number > up_to}
        self._reaches = [reach for reach in self._reaches if reach[0] > up_to]
        self._origin = self._origin if self._origin > up_to else 0

    def with_event(self, event: Event) -> History:
        """Return the history as it would be with one more event."""
        more = self.copy()
        more.add(self.last + 1, event.stamp, event)
        return more

    @property
    def corrected(self) -> bool:
        """Whether an entry changes what an earlier one did, other than by undoing the last one."""
        return self._corrected

    @property
    def renewed(self) -> bool:
        """Whether the layer of the model is that of a renewal."""
        step = self.steps.get(self.layer_origin())
        return step is not None and step.kind is EventKind.RENEW

    @property
    def samples(self) -> dict[int, Annotation]:
        """The samples in force by number, oldest first, with their labels as they are now."""
        self._bring_up_to_date()
        return self._samples

    @property
    def origin(self) -> int:
        """Number of the step that the model began with; 0: none, it began untaught."""
        self._bring_up_to_date()
        return self._origin

    def in_force(self, after: int = 0) -> Iterator[ModelStep]:
        """Yield the steps above a number that are not undone, oldest first."""
        return (step for step in self.steps.values()
                if step.number > after and step.number not in self.undone)

    def layer_origin(self) -> int:
        """Return the number of the last step that replaced the model as a whole; 0: none."""
        whole = (*BEGINNINGS, EventKind.RENEW)
        return max((step.number for step in self.in_force() if step.kind in whole), default=0)

    def reach(self, after: int) -> int:
        """Return the earliest entry that those above a number change; that number + 1: none.

        What was before the beginning of the model does not count.
        """
        return min((target for number, target in self._reaches
                    if number > after and target >= self.origin), default=after + 1)

    def next_undo(self, annotator: str | None = None) -> list[ModelStep]:
        """Return the steps that are undone next, the last one first; annotator: of this one only.

        Several where they belong together; empty where there is none.
        """
        return _first_group(step for step in reversed(self.steps.values())
                            if step.number not in self.undone
                            and step.kind is not EventKind.RENEW
                            and annotator in (None, step.annotator))

    def next_redo(self, annotator: str | None = None) -> list[ModelStep]:
        """Return the steps that are made again next, in order; see `next_undo`."""
        return _first_group(self.steps[number] for number in reversed(self.undone)
                            if number in self.steps
                            and annotator in (None, self.steps[number].annotator))

    # ----- inside -----

    def _turn(self, number: int, event: Event, target: int) -> None:
        """Undo a step or make it again."""
        self._corrected |= is_correction(event)
        step = self.steps.get(target)
        self._reaches.append((number, min(target, step.sample or target) if step else target))
        if event.kind is EventKind.REDO:
            self.undone.pop(target, None)
            self._outdated = True
            return
        self.undone[target] = number
        if step is not None and step.kind is None and not self._outdated:
            self._samples.pop(target, None)
        else:
            self._outdated = True

    def _last_sample(self) -> int:
        return max(self.samples, default=0)

    def _bring_up_to_date(self) -> None:
        if self._outdated:
            self._outdated, self._samples, self._origin = False, {}, 0
            for step in self.in_force():
                self._apply(step)

    def _apply(self, step: ModelStep) -> None:
        """Do to the samples what a step does."""
        record = step.record
        if isinstance(record, Annotation):
            self._samples[step.number] = record
        elif record.kind is EventKind.RELABEL:
            if record.sample in self._samples:
                self._samples[record.sample] = relabelled(self._samples[record.sample], record)
        elif record.kind is EventKind.DELETE:
            self._samples.pop(record.sample, None)
        elif record.kind in BEGINNINGS:
            self._samples, self._origin = {}, step.number
        elif record.kind in LABEL_CHANGES:
            self._samples = {number: with_labels_changed(annotation, record)
                             for number, annotation in self._samples.items()}


def group_of(reference: str) -> str:
    """Return the group of the annotation with this reference; empty where it has none."""
    if not reference.startswith(REQUEST_PREFIX):
        return ''
    request = ClientRequest.from_reference(reference)
    found = _BURST.fullmatch(request.id) if request is not None else None
    return found[1] if found else ''


def _first_group(steps: Iterator[ModelStep]) -> list[ModelStep]:
    first = next(steps, None)
    if first is None:
        return []
    return [first, *(takewhile(lambda step: step.group == first.group, steps)
                     if first.group else ())]


def is_correction(event: Event) -> bool:
    """Tell whether an event has to be replayed with a look at the whole history."""
    return event.kind in _CORRECTIONS or event.kind is EventKind.UNDO and event.sample > 0


def relabelled(annotation: Annotation, event: Event) -> Annotation:
    """Return an annotation with the labels of a correction."""
    return annotation._replace(labels=event.labels, absent=event.absent, complete=event.complete)


def with_labels_changed(annotation: Annotation, event: Event) -> Annotation:
    """Return an annotation after labels were renamed, removed or merged."""
    if event.label not in annotation.labels and event.label not in annotation.absent and (
            event.kind is not EventKind.MERGE_LABELS or event.new_label not in annotation.absent):
        return annotation
    if event.kind is EventKind.REMOVE:
        return annotation.without([event.label])
    if event.kind is EventKind.MERGE_LABELS:
        return merged_labels(annotation, event.label, event.new_label)
    return _once(annotation.renamed(event.label, event.new_label))


def merged_labels(annotation: Annotation, label: str, into: str) -> Annotation:
    """Return an annotation after one label became part of another.

    The merged label is present where one of the two is, and absent where both are.
    """
    both = {label, into} <= {*annotation.absent}
    rest = annotation.renamed(label, into)
    absent = tuple(name for name in rest.absent if name != into)
    if both and into not in rest.labels:
        absent = (*absent, into)
    return _once(rest._replace(absent=absent))


def _once(annotation: Annotation) -> Annotation:
    """Return an annotation in which every name is listed once."""
    return annotation._replace(labels=tuple(dict.fromkeys(annotation.labels)),
                               absent=tuple(dict.fromkeys(annotation.absent)))
