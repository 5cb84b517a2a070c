# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Replay of the journal: everything behind a snapshot is learnt again, as it was accepted once.

Annotations are learnt in blocks, which is many times faster. Those that the rolling loss looks
back upon come one by one, since their predictions count; the blocks end before them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proemlc_ros.classifier.corrections.history import is_correction
from proemlc_ros.classifier.corrections.rebuild import Base, loaded_again, rebuild, undone_number
from proemlc_ros.classifier.durability.journal_protocol import EntryProtocol
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ModelDirectoryError, ProEMLCError, UndoError, UnlearnError
from proemlc_ros.records import Annotation, Event, EventKind

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel

_BLOCK = 1024


@dataclass
class ReplayReport:
    """What a replay did.

    Args:
        replayed: number of entries learnt again.
        rejections: numbers of entries that could not be, each with the reason.
    """

    replayed: int = 0
    rejections: list[tuple[int, str]] = field(default_factory=list)


class Replay:
    """Applies journal entries to a model.

    Args:
        durable: the model, at the position of its snapshot; it is locked by the caller.
        report: gets the counts.
    """

    def __init__(self, durable: DurableModel, report: ReplayReport) -> None:
        self._durable = durable
        self._report = report
        self._block: list[tuple[int, Annotation]] = []
        self._bases: list[Base] = []
        self._one_by_one = False
        # New labels of annotations that are left out and not undone yet, by number.
        self._passing: dict[int | None, list[str]] = {}
        # The last renewal, where its content is gone.
        self._lost_renewal: tuple[int, str] | None = None

    def run(self) -> None:
        """Apply all entries behind the model's position.

        Raises:
            JournalError: the journal cannot be read.
            ModelDirectoryError: a model file that the journal loads is gone.
        """
        durable = self._durable
        if self._replay_corrections():
            return
        plan = _Plan(durable)
        for entry in durable.journal.entries(after=durable.position):
            if entry.number >= plan.one_by_one_from and not self._one_by_one:
                self._flush()
                self._one_by_one = True
                learner = durable.model.learner.copy()
                self._bases = [Base(durable.position, learner.copy)]
            if entry.number in plan.cancelled:
                self._flush()
                self._pass_over(entry)
            elif isinstance(entry.record, Annotation) and not self._one_by_one:
                self._block.append((entry.number, entry.record))
                if len(self._block) >= _BLOCK:
                    self._flush()
            else:
                self._flush()
                self._apply(entry)
        self._flush()
        # What may be left are pictures, which a model does not hold.
        durable.position = max(durable.position, durable.journal.last_number)
        if self._lost_renewal is not None:
            self._report.rejections.append(self._lost_renewal)

    def _replay_corrections(self) -> bool:
        """Apply all entries at once where they change what earlier ones did; else do nothing."""
        durable, began = self._durable, self._durable.position
        events = [entry.record for entry in durable.journal.events(after=began)
                  if isinstance(entry.record, Event)]
        if not any(map(is_correction, events)) and not (
                any(event.kind is EventKind.UNDO for event in events)
                and any(isinstance(entry.record, Event) and is_correction(entry.record)
                        for entry in durable.journal.events())):
            return False
        try:
            durable.corrections.replay()
        except UndoError:
            return False  # One after the other, as far as down-dates are accurate.
        entries = durable.position - began
        durable.model.raise_version(durable.model.version + entries)
        self._report.replayed += entries
        return True

    def _flush(self) -> None:
        """Learn the annotations collected so far."""
        block, self._block = self._block, []
        if not block:
            return
        numbers, annotations = zip(*block, strict=True)
        try:
            self._durable.model.learn_block(numbers, annotations)
        except (ProEMLCError, ValueError):
            # One of them is rejected, and with it the block.
            for number, annotation in block:
                self._learn(number, annotation)
        else:
            self._report.replayed += len(block)
            self._durable.position = numbers[-1]

    def _learn(self, number: int, annotation: Annotation) -> None:
        try:
            self._durable.model.learn(number, annotation)
            self._report.replayed += 1
        except (ProEMLCError, ValueError) as error:
            self._reject(number, error)
        self._durable.position = number

    def _reject(self, number: int, reason: object) -> None:
        self._report.rejections.append((number, str(reason)))
        self._durable.not_learnt.append(number)

    def _pass_over(self, entry: EntryProtocol) -> None:
        """Leave out an annotation that is undone, or the undo, and what both did to the labels."""
        model = self._durable.model
        if isinstance(entry.record, Annotation):
            known = {*model.learner.labels,
                     *(name for names in self._passing.values() for name in names)}
            new = [name for name in entry.record.named if name not in known]
            self._passing[entry.number] = new
            changed = bool(new)
        else:
            # Of an annotation that is lost, there is nothing to take back.
            changed = bool(self._passing.pop(undone_number(entry), ()))
        if changed:
            model.count_version()
        self._report.replayed += 1
        self._durable.position = entry.number

    def _apply(self, entry: EntryProtocol) -> None:
        record = entry.record
        if isinstance(record, Annotation):
            self._learn(entry.number, record)
            return
        try:
            if record is None:
                self._reject(entry.number, entry.error)
            elif is_correction(record):
                self._durable.corrections.repeat(entry.number, record)
            elif record.kind is EventKind.UNDO:
                self._undo(entry)
            else:
                self._repeat(entry, record)
        except ModelDirectoryError as error:
            raise ModelDirectoryError(
                f'journal entry {entry.number} loads a model file that cannot be used '
                f'any more: {error}; put it back, or start with resume: false') from error
        except ProEMLCError as error:
            self._reject(entry.number, error)
        else:
            self._report.replayed += record is not None
        self._durable.position = entry.number

    def _repeat(self, entry: EntryProtocol, event: Event) -> None:
        durable = self._durable
        if event.kind is EventKind.RENAME:
            durable.model.rename(event.label, event.new_label)
        elif event.kind is EventKind.REMOVE:
            durable.model.remove(event.label)
        elif event.kind is EventKind.RESET:
            durable.model.replace(durable.new_learner())
        elif event.kind is EventKind.RENEW:
            self._renew(entry)
        elif event.kind is EventKind.LOAD:
            durable.model.replace(loaded_again(durable, entry))

    def _renew(self, entry: EntryProtocol) -> None:
        """Go on with a renewed model; without its content, with the model as it was before.

        All its samples are in the model all the same. The content of renewals that a later one
        has superseded is deleted.
        """
        durable = self._durable
        try:
            durable.model.renew(durable.directory.read_again(entry, durable.journal.attachments))
        except ModelDirectoryError as error:
            self._lost_renewal = (entry.number, f'its layer and settings are not used: {error}')
        else:
            self._lost_renewal = None

    def _undo(self, entry: EntryProtocol) -> None:
        model, number = self._durable.model, undone_number(entry)
        stack = model.undo_stack
        while number is not None and len(stack) and stack.last.number > number:
            # Annotations are undone from the last one on, so these were, by entries that are lost.
            model.undo(self._without_last(entry.number - 1))
        if number is not None and (not len(stack) or stack.last.number != number):
            raise UndoError(f'it takes back annotation {number}, which was not learnt again')
        model.undo(self._without_last(entry.number - 1))

    def _without_last(self, up_to: int) -> ProEMLC:
        model = self._durable.model
        try:
            return model.unlearnt()
        except UnlearnError:
            return rebuild(self._durable, model.undo_stack.last.number, up_to, self._bases)


class _Plan:
    """What to leave out of a replay, and where to go on one by one.

    An annotation that is undone soon after, with nothing but other such pairs in between, is left
    out together with its undo.

    Args:
        durable: the model and its journal.
    """

    def __init__(self, durable: DurableModel) -> None:
        journal = durable.journal
        events = list(journal.events(after=durable.position))
        undos = {entry.number: undone_number(entry) for entry in events
                 if isinstance(entry.record, Event) and entry.record.kind is EventKind.UNDO}
        last = journal.last_number
        numbers = {entry.number for entry in events}
        self.one_by_one_from = self._start(last, durable.position, durable.model.window, numbers,
                                           undos)
        self.cancelled = self._pairs(numbers, undos, durable.position)

    @staticmethod
    def _start(last: int, position: int, window: int, events: Iterable[int],
               undos: dict[int, int | None]) -> int:
        """Return the number from which the window of the rolling loss, and whole pairs, begin."""
        start = last + 1
        left = window
        known = set(events)
        while start > position + 1 and left:
            start -= 1
            left -= start not in known
        for number in sorted(undos, reverse=True):
            target = undos[number]
            if number >= start and target is not None:
                start = min(start, max(target, position + 1))
        return start

    def _pairs(self, events: set[int], undos: dict[int, int | None], position: int) -> set[int]:
        cancelled: set[int] = set()
        for number in sorted(undos):
            target = undos[number]
            if (target is not None and target > position and number < self.one_by_one_from
                    and all(between in cancelled for between in range(target + 1, number))
                    and target not in events):
                cancelled |= {target, number}
        return cancelled
