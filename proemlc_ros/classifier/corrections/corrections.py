# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections of what was taught: other labels for any sample, deletion, merged labels, history.

Each is in the journal before it takes effect. The model afterwards is the one that would have
been taught rightly from the start: by a down-date where that is accurate, else it is learnt again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from proemlc_ros.classifier.corrections.down_dating import down_dated
from proemlc_ros.classifier.corrections.history import BEGINNINGS, History, ModelStep
from proemlc_ros.classifier.corrections.rebuild import step_reference
from proemlc_ros.classifier.corrections.relearning import extractor_after, relearn, undo_entries
from proemlc_ros.classifier.durability.catch_up import catch_up
from proemlc_ros.classifier.validation import ExpectedInput
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import SampleError, UndoError, UnknownLabelError, UnlearnError
from proemlc_ros.records import Annotation, Event, EventKind

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel


class Correction(NamedTuple):
    """New labels of a learnt sample.

    Args:
        number: of the sample's journal entry.
        labels: names that are present.
        absent: names that are absent.
        complete: whether every name that is not listed is absent.
        delete: whether the sample goes, and the labels do not matter.
    """

    number: int
    labels: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    complete: bool = True
    delete: bool = False


class Corrections:
    """Corrects a durable model; methods that change it wait for each other.

    Args:
        durable: the model.
    """

    def __init__(self, durable: DurableModel) -> None:
        self._durable = durable
        self._history = History()
        self._lock = threading.Lock()

    def history(self) -> History:
        """Return the history of all that the journal holds by now; it is not to be changed.

        Raises:
            JournalError: the journal cannot be read.
        """
        with self._lock:
            journal, history = self._durable.journal, self._history
            if journal.last_number > history.last:
                # A copy: whoever has got the history before may still be reading it.
                self._history = history = history.copy()
                history.follow(journal.entries(after=history.last))
                history.last = max(history.last, journal.last_number)
                # What the journal has dropped; else this would grow for ever.
                history.forget(max((gap.stop - 1 for gap in journal.missing()[:1]
                                    if gap.start == 1), default=0))
                _ = history.samples  # Worked out here, since several threads may read it.
            return history

    def sample(self, number: int) -> Annotation:
        """Return a sample with its labels as they are now and its features.

        Raises:
            SampleError: it is not part of the model, or its entry is gone.
        """
        sample = self.history().samples.get(number)
        if sample is None or number in self._durable.not_learnt:
            raise SampleError(f'sample {number} is not part of the model (any more)')
        entry = self._durable.journal.entry(number)
        if entry is None or not isinstance(entry.record, Annotation):
            raise SampleError(f'sample {number} is part of the model, but its journal entry is '
                              'gone; it cannot be changed any more')
        return sample._replace(features=entry.record.features)

    def correct(self, correction: Correction, annotator: str = '') -> Event:
        """Give a learnt sample other labels, or delete it.

        Returns:
            What was done.

        Raises:
            ProEMLCError: nothing changed.
        """
        durable = self._durable
        with durable.lock:
            catch_up(durable)
            sample = self.sample(correction.number)
            if correction.delete:
                event = self._event(EventKind.DELETE, annotator, sample=correction.number)
            else:
                accepted = self._accepted(sample, correction)
                event = self._event(
                    EventKind.RELABEL, annotator, sample=correction.number,
                    labels=accepted.labels, absent=accepted.absent, complete=accepted.complete)
            return self._change(event)

    def merge_labels(self, label: str, into: str, annotator: str = '') -> Event:
        """Make one label part of another.

        Raises:
            UnknownLabelError, UndoError, JournalError: nothing changed.
        """
        with self._durable.lock:
            catch_up(self._durable)
            for name in (label, into):
                if name not in self._durable.model.learner.labels:
                    raise UnknownLabelError(f'there is no label {name[:100]!r}')
            if label == into:
                raise UnknownLabelError(f'{label[:100]!r} cannot be merged with itself')
            return self._change(self._event(
                EventKind.MERGE_LABELS, annotator, label=label, new_label=into))

    def undo(self, numbers: Sequence[int] = (), annotator: str = '',
             mine: bool = False) -> list[ModelStep]:
        """Take back the last steps.

        Args:
            numbers: of the steps that are meant, in any order; empty: the last one.
            annotator: who asks.
            mine: whether only steps of that annotator count.

        Returns:
            The steps that were taken back.

        Raises:
            UndoError: these are not the last ones, or cannot be taken back; nothing changed.
            JournalError: what was taken back until then is durable.
        """
        return [step for step, _ in self.turn(EventKind.UNDO, numbers, annotator, mine)]

    def redo(self, numbers: Sequence[int] = (), annotator: str = '',
             mine: bool = False) -> list[ModelStep]:
        """Make steps again that were undone last; see `undo`."""
        return [step for step, _ in self.turn(EventKind.REDO, numbers, annotator, mine)]

    def turn(self, kind: EventKind, numbers: Sequence[int], annotator: str,
             mine: bool) -> list[tuple[ModelStep, Event]]:
        """Return the steps that were undone or made again with the events of it; see `undo`."""
        durable, done = self._durable, []
        with durable.lock:
            catch_up(durable)
            for step in self._meant(kind, {*numbers}, annotator if mine else None):
                if step.kind in BEGINNINGS:
                    _require_nothing_behind(self.history(), step)
                done.append((step, self._change(self._event(kind, annotator,
                                                            sample=step.number))))
        return done

    def without(self, number: int) -> ProEMLC:
        """Return a learner that has learnt all that is in force except one annotation.

        Raises:
            UndoError: there is no such learner.
        """
        return relearn(self._durable, self.history().with_event(
            Event(EventKind.UNDO, sample=number)))

    def replay(self) -> None:
        """Bring the model to what the journal says, where it has corrections.

        Raises:
            UndoError: what is needed for that is gone.
        """
        durable, history = self._durable, self.history()
        learner = relearn(durable, history)
        durable.model.go_on_with(learner, undo_entries(durable, history, learner),
                                 extractor_after(learner, history))
        durable.position = durable.journal.last_number

    def repeat(self, number: int, event: Event) -> None:
        """Do again what one event of the journal did, by a down-date.

        Args:
            number: of its entry; the model is as it was before it.
            event: the event.

        Raises:
            UnlearnError, UndoError: a down-date is not accurate; nothing changed.
        """
        durable, before = self._durable, History()
        before.follow(entry for entry in durable.journal.entries() if entry.number < number)
        after = before.with_event(event)
        learner = down_dated(durable, before, after, event)
        durable.model.go_on_with(learner, undo_entries(durable, after, learner),
                                 durable.model.extractor)

    # ----- inside -----

    def _meant(self, kind: EventKind, numbers: set[int], annotator: str | None) -> list[ModelStep]:
        """Return the steps that are meant, in the order in which they are changed.

        Raises:
            UndoError: they are not the next ones, or there are none.
        """
        history = self.history()
        found: list[ModelStep] = []
        while not found or len(found) < len(numbers):
            steps = _next(history, kind, annotator)
            if not steps and not numbers:
                raise UndoError(f'there is nothing to {kind.name.lower()}')
            if numbers and not {step.number for step in steps or ()} & numbers:
                text = f'entry {steps[0].number}' if steps else 'nothing'
                raise UndoError('something else was done meanwhile: the next to '
                                f'{kind.name.lower()} is {text}; look again')
            for step in steps:
                found.append(step)
                history = history.with_event(Event(kind, sample=step.number))
        if numbers and {step.number for step in found} != numbers:
            raise UndoError('something else was done meanwhile: other steps belong to these; '
                            'look again')
        return found

    def _event(self, kind: EventKind, annotator: str, **fields: object) -> Event:
        return Event(kind, self._durable.clock(), annotator=annotator,
                     **fields)  # type: ignore[arg-type]

    def _accepted(self, sample: Annotation, correction: Correction) -> Annotation:
        learner, model = self._durable.model.learner, self._durable.model
        expected = ExpectedInput(learner.width, model.extractor, dict.fromkeys(learner.labels),
                                 self._durable.limits, model.version)
        return expected.accept_annotation(sample._replace(
            labels=correction.labels, absent=correction.absent, complete=correction.complete))

    def _change(self, event: Event) -> Event:
        """Work out the model after an event, write the event, go on with the model."""
        durable, before = self._durable, self.history()
        after = before.with_event(event)
        try:
            learner = down_dated(durable, before, after, event)
        except UnlearnError as error:
            learner = relearn(durable, after)
            expected = durable.model.learner.samples + len(after.samples) - len(before.samples)
            if before.origin == after.origin and learner.samples != expected:
                raise UndoError(f'the change cannot be made: {error}; and the journal gives a '
                                f'model of {learner.samples} samples where {expected} are due'
                                ) from error
        entries = undo_entries(durable, after, learner)
        extractor = (durable.model.extractor if after.origin == before.origin
                     else extractor_after(learner, after))
        durable.position, = durable.journal.append([event], [step_reference(event.sample)])
        durable.model.go_on_with(learner, entries, extractor)
        return event._replace(entry=durable.position)


def _next(history: History, kind: EventKind, annotator: str | None) -> list[ModelStep]:
    return (history.next_undo(annotator) if kind is EventKind.UNDO
            else history.next_redo(annotator))


def _require_nothing_behind(history: History, step: ModelStep) -> None:
    behind = next(history.in_force(step.number), None)
    if behind is not None:
        raise UndoError(f'other changes were made after entry {step.number}, for instance entry '
                        f'{behind.number}; undo those first')
