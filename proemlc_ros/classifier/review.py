# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Looking through what was taught and correcting it, beside predictions and learning.

What changes the model is queued for the learning thread; what only reads has a thread of its own,
since a long list may take a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.gallery import Gallery
from proemlc_ros.classifier.reembedding import Embedding, Reembedding
from proemlc_ros.classifier.step_text import event_text, steps_text
from proemlc_ros.errors import SampleError
from proemlc_ros.journal.table import BEGINNINGS, ModelStep
from proemlc_ros.records import Correction, Event, EventKind

MOST_CORRECTED = 10_000


@dataclass(frozen=True, slots=True)
class CorrectedModel:
    """The result of corrections.

    Args:
        message: what was done, for people.
        events: to publish.
        samples: learnt again with other features.
        left_out: samples that could not be.
    """

    message: str
    events: list[Event] = field(default_factory=list)
    samples: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Part of the history, newest first, and what undo and redo would change next."""

    total: int
    steps: list[tuple[ModelStep, bool]]
    next_undo: list[ModelStep]
    next_redo: list[ModelStep]


class Review:
    """The corrections and lists of a classifier, as futures.

    Args:
        classifier: what is looked through.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._durable = classifier.durable
        self.gallery = Gallery(classifier.durable)
        self._readers = ThreadPoolExecutor(1, 'review')

    def read(self, action: Callable[[], Any]) -> Future[Any]:
        """Work something out in the reading thread."""
        return self._readers.submit(action)

    def close(self) -> None:
        """Finish what is asked and stop."""
        self._readers.shutdown(cancel_futures=True)

    def correct(self, corrections: Sequence[Correction],
                annotator: str) -> Future[CorrectedModel]:
        """Give samples other labels, or delete them; see `DurableModel.correct`."""
        def act() -> CorrectedModel:
            if not 0 < len(corrections) <= MOST_CORRECTED:
                raise SampleError(f'{len(corrections)} samples are named; give 1 to '
                                  f'{MOST_CORRECTED}')
            events = self._durable.correct(corrections, annotator)
            text = (event_text(events[0]) if len(events) == 1
                    else f'changed {len(events)} samples')
            return CorrectedModel(text, events)
        return self._classifier.learning.call(act)

    def merge_labels(self, label: str, into: str, annotator: str) -> Future[CorrectedModel]:
        """Make one label part of another."""
        def act() -> CorrectedModel:
            event = self._durable.merge_labels(label, into, annotator)
            return CorrectedModel(event_text(event), [event])
        return self._classifier.learning.call(act)

    def turn(self, kind: EventKind, numbers: Sequence[int], annotator: str,
             mine: bool) -> Future[CorrectedModel]:
        """Undo steps, or make them again.

        Args:
            kind: UNDO or REDO.
            numbers: of the steps that are meant; empty: the next one.
            annotator: who asks.
            mine: whether only steps of that annotator count.
        """
        def act() -> CorrectedModel:
            done = self._durable.turn(kind, numbers, annotator, mine)
            steps = [step for step, _ in done]
            if any(step.kind in BEGINNINGS for step in steps):
                self._classifier.clear_buffer('model_replaced', 'the model was replaced')
            text = steps_text(steps)
            verb = 'took back' if kind is EventKind.UNDO else 'made again'
            return CorrectedModel(f'{verb}: {text}', [event for _, event in done])
        return self._classifier.learning.call(act)

    def reembed(self, embedding: Callable[[], Embedding],
                annotator: str) -> Future[CorrectedModel]:
        """Learn all samples again with the features of another extractor.

        Args:
            embedding: makes it; called in the reading thread, where the features are made too.
            annotator: who asks.
        """
        result: Future[CorrectedModel] = Future()

        def prepare() -> None:
            try:
                made = embedding()
                work = Reembedding(self._durable, made)
                work.prepare()
            except Exception as error:  # Whoever waits must be answered.
                result.set_exception(error)
                return
            self._classifier.learning.call(lambda: self._finish(
                work, made.extractor, annotator)).add_done_callback(partial(_pass_on, result))
        self._readers.submit(prepare)
        return result

    def _finish(self, work: Reembedding, extractor: str, annotator: str) -> CorrectedModel:
        done = work.apply(annotator)
        self._classifier.clear_buffer('model_replaced', 'the model was replaced')
        left_out = f'; {done.left_out} without a picture are left out' if done.left_out else ''
        event = Event(EventKind.RESET, self._durable.clock(), annotator=annotator)
        return CorrectedModel(f'learnt {done.samples} samples again with {extractor}{left_out}',
                              [event], samples=done.samples, left_out=done.left_out)

    def history_page(self, annotator: str | None, offset: int, limit: int) -> HistoryPage:
        """Return part of the history.

        Args:
            annotator: whose steps; None: everybody's.
            offset: steps to skip.
            limit: steps to return at most.

        Raises:
            JournalError: the journal cannot be read.
        """
        table = self._durable.reading()
        steps = [step for step in reversed(table.steps.values())
                 if annotator in (None, step.annotator)]
        return HistoryPage(
            len(steps), [(step, step.number in table.undone)
                         for step in steps[offset:offset + limit]],
            table.next_undo(annotator), table.next_redo(annotator))


def _pass_on(result: Future[CorrectedModel], done: Future[CorrectedModel]) -> None:
    error = done.exception()
    if error is not None:
        result.set_exception(error)
    else:
        result.set_result(done.result())
