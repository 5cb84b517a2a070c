# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The sample table: the one reading of a journal.

The meaning of a journal is the fold of its steps in order, except those that are undone. A step is
an annotation or an event other than undo and redo. It may be undone and redone at any time, and
counts at its own place in the order, so a history has no branches, and two people can take back
their own steps independently. What an entry does is the difference between the table before and
after it. Nothing here reads a file or knows a feature.

A load of a file that was saved from this journal is a place in the table: the samples are those
that were in force at the entry up to which the file holds them. What is undone or redone after the
load concerns these samples too; what was turned between that entry and the load does not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby, takewhile
from typing import NamedTuple

from proemlc_ros.errors import UndoError
from proemlc_ros.journal.entries import (
    LAST_REFERENCE,
    REJECTED_REFERENCE,
    JournalEntry,
    ModelStep,
    group_of,
)
from proemlc_ros.records import Annotation, Event, EventKind

_LABEL_CHANGES = (EventKind.RENAME, EventKind.REMOVE, EventKind.MERGE_LABELS)
# What gives the model another beginning: the samples before it are not part of the model.
BEGINNINGS = (EventKind.LOAD, EventKind.RESET)
_TURNS = (EventKind.UNDO, EventKind.REDO)
Turn = tuple[int, EventKind, int]
"""Number, kind and target of an undo or redo."""


class Change(NamedTuple):
    """The difference of two tables.

    Args:
        removed: samples that are gone or have other labels now, as they were.
        added: samples that are new or have other labels now, as they are.
        columns: labels that were renamed or removed as a whole; samples that differ by these
            alone are not listed.
        rebased: whether the model begins with another base, or has another hidden layer.
        renamed: whether the list of labels changed.
        unknown: the entry that an event refers to and that is not there; 0: none.
        merged: labels that became part of others, by the samples that are listed.
        restored: whether labels are changed back that samples which are not listed may have.
    """

    removed: Mapping[int, Annotation] = {}
    added: Mapping[int, Annotation] = {}
    columns: Sequence[Event] = ()
    rebased: bool = False
    renamed: bool = False
    unknown: int = 0
    merged: Collection[str] = ()
    restored: bool = False


class TableState:
    """What is in force.

    Attributes:
        samples: by number, oldest first, with their labels as they are now, without features.
        labels: how many samples name each label, in the order of the labels.
        shown: how many samples show each label.
        origin: number of the reset or of the load of another model's file that all began with; 0:
            untaught.
        layer: number of the load or renewal whose file has the hidden layer; 0: it is drawn from
            the samples.
    """

    def __init__(self) -> None:
        self.samples: dict[int, Annotation] = {}
        self.labels: dict[str, int] = {}
        self.shown: dict[str, int] = {}
        self.origin = self.layer = 0

    def copy(self) -> TableState:
        """Return an independent copy."""
        twin = copy(self)
        twin.samples, twin.labels = dict(self.samples), dict(self.labels)
        twin.shown = dict(self.shown)
        return twin

    def put(self, number: int, sample: Annotation | None) -> None:
        """Give a sample other labels, add it, or with None take it out."""
        old = self.samples.get(number)
        # First what comes: a label that stays keeps its place.
        if sample is not None:
            self._count(sample, 1)
            self.samples[number] = sample
        elif old is not None:
            del self.samples[number]
        if old is not None:
            self._count(old, -1)

    def _count(self, sample: Annotation, step: int) -> None:
        labels, shown = self.labels, self.shown
        for name in sample.labels:
            labels[name] = labels.get(name, 0) + step
            shown[name] = shown.get(name, 0) + step
        if not sample.complete:
            for name in sample.absent:
                labels[name] = labels.get(name, 0) + step
        if step < 0:
            for name in sample.named:
                if not labels.get(name, 1):
                    del labels[name]

    def change_label(self, event: Event) -> None:
        """Rename, remove or merge a label in all samples."""
        if _is_column_change(event, self.labels) and event.kind is EventKind.RENAME:
            self.labels = {event.new_label if name == event.label else name: count
                           for name, count in self.labels.items()}
            self.shown[event.new_label] = self.shown.pop(event.label, 0)
            for number, sample in self.samples.items():
                self.samples[number] = sample.changed_by(event)
            return
        for number, sample in list(self.samples.items()):
            changed = sample.changed_by(event)
            if changed is not sample:
                self.put(number, changed)


class SampleTable:
    """The steps of a journal, and what is in force of them.

    Attributes:
        steps: all of them by number, oldest first.
        undone: numbers of the steps that are undone, the last undone one last.
        last: number of the last entry that was read.
        forgotten: number of the last entry that the journal has dropped.
        state: what is in force.

    Args:
        forgotten: number of the last entry that the journal has dropped; 0: none.
    """

    def __init__(self, forgotten: int = 0) -> None:
        self.steps: dict[int, ModelStep] = {}
        self.undone: dict[int, int] = {}
        self.last = 0
        self.state = TableState()
        self._turns: list[Turn] = []
        # Annotations that the learner rejected: they are in the journal only.
        self._rejected: set[int] = set()
        self.forgotten = forgotten

    @property
    def samples(self) -> dict[int, Annotation]:
        """The samples in force by number, oldest first, with their labels as they are now."""
        return self.state.samples

    @property
    def rejected(self) -> Collection[int]:
        """Numbers of the annotations that the learner rejected."""
        return self._rejected

    @property
    def base(self) -> ModelStep | None:
        """The load of another model's file that all samples come on top of; None: none."""
        step = self.steps.get(self.state.origin)
        return step if step is not None and step.kind is EventKind.LOAD else None

    def copy(self) -> SampleTable:
        """Return an independent copy."""
        twin = copy(self)
        twin.steps, twin.undone = dict(self.steps), dict(self.undone)
        twin.state, twin._turns = self.state.copy(), list(self._turns)
        twin._rejected = set(self._rejected)
        return twin

    def follow(self, entries: Iterable[JournalEntry]) -> SampleTable:
        """Apply entries in order; return the table itself."""
        for _ in self.changes(entries):
            pass
        return self

    def changes(self, entries: Iterable[JournalEntry]) -> Iterator[tuple[JournalEntry, Change]]:
        """Apply entries in order; yield each with what it does.

        The undo or redo of several steps that belong together is one change, of its last entry.
        """
        for together, some in groupby(entries, self._turned_group):
            if together:
                *_, last = found = [*some]
                yield last, self._turn_group(found)
            else:
                for entry in some:
                    yield entry, self.apply(entry)

    def apply(self, entry: JournalEntry) -> Change:
        """Take in the entry behind the last one; return what it does, nothing if unreadable."""
        number, record = entry.number, entry.record
        self.last = max(self.last, number)
        if isinstance(record, Annotation):
            return self._add(entry, record)
        if record is None:
            return Change()
        if entry.reference == REJECTED_REFERENCE:
            return self._reject_before_others(record.sample)
        if record.kind in _TURNS:
            return self._turn(number, record, *self._targets(entry, record))
        step = self.steps[number] = ModelStep(number, entry.time, record,
                                              group_of(entry.reference))
        if record.kind in _LABEL_CHANGES and _is_column_change(record, self.state.labels):
            self._do(step, self.state)
            return Change(columns=[record], renamed=True)
        if record.kind in (EventKind.RELABEL, EventKind.DELETE, EventKind.RENEW):
            return self._do_one(step)
        before = self.state
        if record.kind in BEGINNINGS:
            self.state = self._folded(number, self._turns)
        else:
            self.state = before.copy()
            self._do(step, self.state)
        return difference(before, self.state)._replace(
            merged=[record.label] if record.kind in _LABEL_CHANGES else ())

    def reject(self, number: int) -> Change:
        """Leave out an annotation that the learner cannot take, now or when it is read."""
        if number <= self.forgotten:
            return Change()
        self._rejected.add(number)
        self.steps.pop(number, None)
        return self._do_one(ModelStep(number, 0, Event(EventKind.DELETE, sample=number)))

    def _reject_before_others(self, number: int) -> Change:
        """Leave out an annotation before those behind it, which bring labels in their order."""
        state = self.state
        behind = {later: state.samples[later]
                  for later in takewhile(number.__lt__, reversed(state.samples))}
        for later in behind:
            state.put(later, None)
        change = self.reject(number)
        for later in reversed(behind):
            state.put(later, behind[later])
        return change

    def date(self, number: int, time: int) -> None:
        """Take note of when a step was written."""
        if number in self.steps:
            self.steps[number] = self.steps[number]._replace(time=time)

    def forget(self, up_to: int) -> None:
        """Leave out all up to a number, as if the journal had begun behind it."""
        if self.forgotten >= up_to:
            return
        self.forgotten = up_to
        self.steps = {number: step for number, step in self.steps.items() if number > up_to}
        self.undone = {step: number for step, number in self.undone.items() if step > up_to}
        self._turns = [turn for turn in self._turns if turn[0] > up_to]
        self._rejected = {number for number in self._rejected if number > up_to}
        state = self.state
        for number in [number for number in self.samples if number <= up_to]:
            state.put(number, None)
        state.origin = state.origin if state.origin > up_to else 0
        state.layer = state.layer if state.layer > up_to else 0

    # ----- what was in force -----

    def at(self, number: int) -> TableState:
        """Return what was in force behind an entry."""
        if number >= self.last:
            return self.state
        return self._folded(number, [turn for turn in self._turns if turn[0] <= number])

    def in_force(self, after: int = 0) -> Iterator[ModelStep]:
        """Yield the steps above a number that are not undone, oldest first."""
        return (step for step in self.steps.values()
                if step.number > after and step.number not in self.undone)

    def since(self, number: int, before: TableState | None = None) -> Change:
        """Return what the entries above a number did together.

        Args:
            number: of the last entry that is not counted.
            before: what was in force then; None: it is worked out.
        """
        before = self.at(number) if before is None else before
        columns, merged = _columns_of((
            step.record for step in self.in_force(number)
            if isinstance(step.record, Event) and step.kind in _LABEL_CHANGES), before.labels)
        return difference(before, self.state, columns)._replace(merged=merged, restored=any(
            at > number >= target > self.state.origin and target in self.steps
            and self.steps[target].kind in _LABEL_CHANGES for at, _, target in self._turns))

    def begins(self, number: int) -> bool:
        """Tell whether the model began again with an entry, by a reset or another model's file.

        Not where a later load has gone back to before it.
        """
        step = self.steps.get(number)
        return (step is not None and step.kind in BEGINNINGS and number not in self.undone
                and not self._place_of(step)
                and not any(0 < self._place_of(later) < number
                            for later in self.in_force(number)))

    def taught(self) -> dict[int, Annotation]:
        """Return the samples in force, and those that were before each new beginning."""
        found: dict[int, Annotation] = {}
        for step in self.in_force():
            if step.kind in BEGINNINGS and self.begins(step.number):
                found.update(self._folded(step.number - 1, self._turns).samples)
        return {**found, **self.samples}

    def concerned(self, event: Event) -> int:
        """Return how many samples a model has to learn or unlearn for an event, at most."""
        if event.kind is EventKind.MERGE_LABELS:
            return self.state.labels.get(event.label, 0)
        step = self.steps.get(event.sample) if event.kind in _TURNS else None
        # Whether all are learnt again is not known before it is tried.
        return 1 if step is None or step.kind in (None, EventKind.RELABEL, EventKind.DELETE,
                                                  EventKind.RENAME) else len(self.steps)

    # ----- undo and redo -----

    def next_undo(self, annotator: str | None = None) -> list[ModelStep]:
        """Return the steps that are undone next, the last one first; annotator: of this one only.

        Several where they belong together; empty where there is none.
        """
        return _first_group(step for step in reversed(self.steps.values())
                            if step.number not in self.undone
                            and step.kind is not EventKind.RENEW
                            and annotator in (None, step.annotator))

    def next_redo(self, annotator: str | None = None) -> list[ModelStep]:
        """Return the steps that are redone next, in order; see `next_undo`."""
        return _first_group(self.steps[number] for number in reversed(self.undone)
                            if number in self.steps
                            and annotator in (None, self.steps[number].annotator))

    def meant(self, kind: EventKind, numbers: set[int],
              annotator: str | None = None) -> list[ModelStep]:
        """Return the steps that an undo or redo means, in the order in which they are turned.

        Args:
            kind: UNDO or REDO.
            numbers: of the steps; empty: the next one.
            annotator: of this one only; None: of all.

        Raises:
            UndoError: they are not the next ones, or there are none.
        """
        # What undo and redo look at; nothing is folded.
        table, found = copy(self), list[ModelStep]()
        table.undone = dict(self.undone)
        while not found or len(found) < len(numbers):
            steps = (table.next_undo if kind is EventKind.UNDO else table.next_redo)(annotator)
            if not steps and not numbers:
                raise UndoError(f'there is nothing to {kind.name.lower()}')
            if numbers and not {step.number for step in steps} & numbers:
                text = f'entry {steps[0].number}' if steps else 'nothing'
                raise UndoError('the history has changed: the next to '
                                f'{kind.name.lower()} is {text}; reload it')
            for step in steps:
                table._require_nothing_behind(step)
                found.append(step)
                _apply_turn(table.undone, (self.last + len(found), kind, step.number))
        if numbers and {step.number for step in found} != numbers:
            raise UndoError('the history has changed: other steps belong to these; '
                            'reload it')
        return found

    def require_turnable(self, kind: EventKind, numbers: Iterable[int]) -> None:
        """Check that steps can be undone or redone that were chosen a while ago.

        Raises:
            UndoError: somebody else has turned them, or goes on behind a beginning among them.
        """
        for number in numbers:
            if number not in self.steps or (number in self.undone) is (kind is EventKind.UNDO):
                raise UndoError('something else was done meanwhile: entry '
                                f'{number} was changed; look again')
            self._require_nothing_behind(self.steps[number])

    def _require_nothing_behind(self, step: ModelStep) -> None:
        """Check that nothing was done to the model that a step replaced as a whole."""
        behind = next(self.in_force(step.number), None) if step.kind in BEGINNINGS else None
        if behind is not None:
            raise UndoError(f'other changes were made after entry {step.number}, for instance '
                            f'entry {behind.number}; undo those first')

    # ----- inside -----

    def _add(self, entry: JournalEntry, record: Annotation) -> Change:
        number, state = entry.number, self.state
        if number in self._rejected:
            return Change()
        bare = record._replace(features=None, request=None)
        self.steps[number] = ModelStep(number, entry.time, bare, group_of(entry.reference))
        known = len(state.labels)
        state.put(number, bare)
        return Change(added={number: bare}, renamed=len(state.labels) > known)

    def _do_one(self, step: ModelStep) -> Change:
        """Do a step that concerns one sample, or the layer alone."""
        state, number = self.state, step.sample
        before, names, layer = state.samples.get(number), [*state.labels], state.layer
        self._do(step, state)
        after = state.samples.get(number)
        return Change({} if before in (None, after) else {number: before},
                      {} if after in (None, before) else {number: after},
                      rebased=state.layer != layer, renamed=[*state.labels] != names,
                      unknown=0 if number in self.steps or number in self._rejected else number)

    def _turn(self, number: int, event: Event, target: int, *more: int) -> Change:
        """Undo a step or redo it; more: others that go with it."""
        step, before = self.steps.get(target), self.state
        for one in (*more, target):
            self._turns.append((number, event.kind, one))
            _apply_turn(self.undone, self._turns[-1])
        if target in self.samples and event.kind is EventKind.UNDO and not more:
            return self._do_one(ModelStep(number, 0, Event(EventKind.DELETE, sample=target)))
        self.state = self._folded(self.last, self._turns)
        if step is None:
            return difference(before, self.state)._replace(
                unknown=0 if target in self._rejected else target)
        if isinstance(step.record, Annotation) or step.kind not in _LABEL_CHANGES:
            return difference(before, self.state)
        # As a change of columns where it is one: no sample is learnt again.
        plain, turned = difference(before, self.state)._replace(restored=True), step.record
        if event.kind is EventKind.UNDO:
            if turned.kind is not EventKind.RENAME:
                return plain
            turned = turned._replace(label=turned.new_label, new_label=turned.label)
        if not _is_column_change(turned, before.labels):
            return plain
        columns = difference(before, self.state, [turned])
        return columns if len(columns.removed) < len(plain.removed) else plain

    def _turned_group(self, entry: JournalEntry) -> str:
        """Return a key of the steps that an entry turns together with others; empty: with none."""
        if (not isinstance(entry.record, Event) or entry.record.kind not in _TURNS
                or entry.reference == REJECTED_REFERENCE
                or LAST_REFERENCE.fullmatch(entry.reference)):
            return ''
        step = self.steps.get(entry.record.sample)
        return '' if step is None or not step.group else f'{entry.record.kind} {step.group}'

    def _turn_group(self, entries: Sequence[JournalEntry]) -> Change:
        """Undo or redo steps that belong together, in one fold."""
        before = self.state
        turns = [(entry.number, entry.record.kind, entry.record.sample) for entry in entries
                 if isinstance(entry.record, Event)]
        self.last = max(self.last, turns[-1][0])
        self._turns += turns
        for turn in turns:
            _apply_turn(self.undone, turn)
        if all(kind is EventKind.UNDO and target in before.samples for _, kind, target in turns):
            self.state = before.copy()
            for *_, target in turns:
                self.state.put(target, None)
        else:
            self.state = self._folded(self.last, self._turns)
        return difference(before, self.state)

    def _targets(self, entry: JournalEntry, event: Event) -> list[int]:
        """Return the step that an undo or redo turns, and others that go with it."""
        named = LAST_REFERENCE.fullmatch(entry.reference)
        if not named:  # An early version said nothing: it meant the last one.
            return [event.sample or max(self.samples, default=0)]
        target = int(named[1])
        # It was the last one: what is behind it was undone by entries that are lost.
        return [target, *(number for number in self.samples if number > target)]

    def _folded(self, up_to: int, turns: Sequence[Turn]) -> TableState:
        """Return what is in force of the steps up to a number after some turns."""
        # What is before the last beginning does not count; a load may go back further. So a
        # journal of many loads is as quick to fold as one without.
        numbers, parts = list(self.steps), list[tuple[ModelStep | None, list[ModelStep]]]()
        while not parts or up_to:
            undone: dict[int, int] = {}
            for turn in turns:
                _apply_turn(undone, turn)
            begin, behind = None, list[ModelStep]()
            for number in reversed(numbers[:bisect_right(numbers, up_to)]):
                step = self.steps[number]
                if number not in undone and step.kind in BEGINNINGS:
                    begin = step
                    break
                if number not in undone:
                    behind.append(step)
            parts.append((begin, behind[::-1]))
            up_to = 0 if begin is None else self._place_of(begin)
            turns = [turn for turn in turns
                     if begin is not None and (turn[0] <= up_to or turn[0] > begin.number)]
        state = TableState()
        for begin, behind in reversed(parts):
            if begin is not None:
                state = self._begun(begin, state)
            for step in behind:
                self._do(step, state)
        return state

    def _begun(self, step: ModelStep, place: TableState) -> TableState:
        """Return what is in force after a reset or load; place: what a load goes back to."""
        if self._place_of(step):
            # The file has the layer too, and the one of a renewal may be gone.
            place.layer = step.number if place.layer else 0
            return place
        begun = TableState()
        begun.origin = step.number
        begun.layer = step.number if step.kind is EventKind.LOAD else 0
        return begun

    def _do(self, step: ModelStep, state: TableState) -> None:
        """Do to a state what a step does that is no beginning."""
        record = step.record
        if isinstance(record, Annotation):
            state.put(step.number, record)
        elif record.kind is EventKind.RELABEL:
            if record.sample in state.samples:
                state.put(record.sample, state.samples[record.sample].changed_by(record))
        elif record.kind is EventKind.DELETE:
            state.put(record.sample, None)
        elif record.kind is EventKind.RENEW:
            state.layer = step.number
        elif record.kind in _LABEL_CHANGES:
            state.change_label(record)

    def _place_of(self, step: ModelStep) -> int:
        """Return the entry that a load goes back to; 0: it has another model's file."""
        if step.kind is not EventKind.LOAD or not isinstance(step.record, Event):
            return 0
        return step.record.sample if self.forgotten < step.record.sample < step.number else 0


def difference(before: TableState, after: TableState, columns: Sequence[Event] = ()) -> Change:
    """Return what changed from one state to another.

    Args:
        before: the one.
        after: the other.
        columns: changes of labels between them, which are not listed by sample.
    """
    removed: dict[int, Annotation] = {}
    added: dict[int, Annotation] = {}
    for number, old in before.samples.items():
        new = after.samples.get(number)
        for event in columns:
            old = old.changed_by(event)
        if new is not old and (new is None or old.meaning != new.meaning):
            removed[number] = old
            if new is not None:
                added[number] = new
    added.update((number, new) for number, new in after.samples.items()
                 if number not in before.samples)
    rebased = (before.origin, before.layer) != (after.origin, after.layer)
    return Change(removed, {number: added[number] for number in sorted(added)}, columns, rebased,
                  rebased or [*before.labels] != [*after.labels])


def _columns_of(events: Iterable[Event],
                labels: Iterable[str]) -> tuple[list[Event], list[str]]:
    """Return the changes of labels as a whole, and the labels that become part of others."""
    names, columns, merged = {*labels}, list[Event](), list[str]()
    for event in events:
        if event.kind is not EventKind.REMOVE and event.label in names and (
                event.kind is EventKind.MERGE_LABELS or event.new_label in names):
            merged.append(event.label)
        elif event.kind is EventKind.MERGE_LABELS:  # Of samples that are not listed: a new name.
            columns.append(event._replace(kind=EventKind.RENAME))
        else:
            columns.append(event)
        if event.label in names:
            names.remove(event.label)
            names |= {event.new_label} - {''}
    return columns, merged


def _is_column_change(event: Event, labels: Mapping[str, int]) -> bool:
    """Tell whether an event changes a label as a whole, without a look at single samples."""
    return event.kind is EventKind.REMOVE or (
        event.kind is EventKind.RENAME and event.new_label not in labels)


def _apply_turn(undone: dict[int, int], turn: Turn) -> None:
    number, kind, target = turn
    undone.pop(target, None)
    if kind is EventKind.UNDO:
        undone[target] = number


def _first_group(steps: Iterator[ModelStep]) -> list[ModelStep]:
    first = next(steps, None)
    if first is None:
        return []
    return [first, *(takewhile(lambda step: step.group == first.group, steps)
                     if first.group else ())]
