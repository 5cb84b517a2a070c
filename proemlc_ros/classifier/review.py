# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Looking through what was taught and correcting it, beside predictions and learning.

What changes the model is queued for the learning thread; what only reads has a thread of its own,
since a long list may take a second, and waits for nothing: scores are worked out on a copy.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.resume import Embedding, Reembedding
from proemlc_ros.classifier.threads import WorkThread
from proemlc_ros.classifier.versioned_model import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.errors import SampleError
from proemlc_ros.journal.entries import ModelStep
from proemlc_ros.journal.table import BEGINNINGS, SampleTable
from proemlc_ros.records import (
    Correction,
    Event,
    EventKind,
    ModelChange,
    Picture,
    SampleOrder,
    SampleQuery,
    TaughtSample,
    Vector,
)

_CLOSE_TIMEOUT = 0.5


@dataclass(frozen=True, slots=True)
class _HistoryPage:
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
        self._reader = WorkThread('review')

    def read(self, action: Callable[[], Any]) -> Future[Any]:
        """Work something out in the reading thread."""
        return self._reader.call(action)

    def close(self) -> None:
        """Stop; what is asked is not answered any more."""
        self._reader.close(_CLOSE_TIMEOUT)

    def correct(self, corrections: Sequence[Correction], annotator: str) -> Future[ModelChange]:
        """Give samples other labels, or delete them, all or none, as one step."""
        return self._classifier.change(
            self._durable.plans.correct(corrections, annotator),
            lambda events: events[0].text if len(events) == 1
            else f'changed {len(events)} samples')

    def merge_labels(self, label: str, into: str, annotator: str) -> Future[ModelChange]:
        """Make one label part of another."""
        return self._classifier.change(
            self._durable.plans.change_label(EventKind.MERGE_LABELS, label, into, annotator),
            lambda events: events[0].text)

    def turn(self, kind: EventKind, numbers: Sequence[int], annotator: str,
             mine: bool) -> Future[ModelChange]:
        """Undo steps, or make them again; see `CorrectionPlans.turn`."""
        def text(events: list[Event]) -> str:
            steps = [self._durable.table.steps[event.sample] for event in events]
            if any(step.kind in BEGINNINGS for step in steps):
                self._classifier.model_replaced()
            verb = 'took back' if kind is EventKind.UNDO else 'made again'
            return f'{verb}: {_steps_text(steps)}'
        return self._classifier.change(
            self._durable.plans.turn(kind, numbers, annotator, mine), text)

    def reembed(self, embedding: Callable[[], Embedding], annotator: str,
                leave_out: bool = True) -> Future[ModelChange]:
        """Learn all samples again with the features of another extractor.

        Args:
            embedding: makes it; called beside learning, where the features are made too.
            annotator: who asks.
            leave_out: whether samples without a usable picture may be left out.
        """
        work = self._classifier.work

        def prepare() -> Future[ModelChange]:
            work.report('reading the settings of the extractor')
            made = embedding()
            reembedding = Reembedding(self._durable, made, leave_out)
            reembedding.prepare(work.report)
            return self._classifier.learning.call(
                lambda: self._finish(reembedding, made.extractor, annotator))
        return work.call(prepare)

    def _finish(self, work: Reembedding, extractor: str, annotator: str) -> ModelChange:
        done = work.apply(annotator)
        self._classifier.model_replaced()
        left_out = f'; {done.left_out} without a picture are left out' if done.left_out else ''
        event = Event(EventKind.RESET, self._durable.clock(), annotator=annotator)
        return ModelChange(f'learnt {done.samples} samples again with {extractor}{left_out}',
                           [event], done.samples, done.left_out)

    def history_page(self, annotator: str | None, offset: int, limit: int) -> _HistoryPage:
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
        return _HistoryPage(
            len(steps), [(step, step.number in table.undone)
                         for step in steps[offset:offset + limit]],
            table.next_undo(annotator), table.next_redo(annotator))


# ----- gallery -----


MOST_LISTED = 1000
# Samples that a vector is compared with, the newest.
_MOST_COMPARED = 10_000
# Samples whose left-out scores are worked out together.
_BLOCK = 256


class _Doubt(NamedTuple):
    """How much the other samples contradict the labels of one.

    Args:
        amount: largest distance of a left-out score to its threshold, on the wrong side;
            NaN where not known.
        label: that contradicts most; empty where none does.
        expected: labels that would be predicted had the sample not been learnt.
    """

    amount: float = math.nan
    label: str = ''
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SamplePage:
    """Part of a list of samples, how long the whole is, and who has taught them."""

    total: int
    samples: list[TaughtSample]
    annotators: list[str]


class Gallery:
    """Lists the samples of a durable model; safe to use from several threads.

    Args:
        durable: the model.
    """

    def __init__(self, durable: DurableModel) -> None:
        self._durable = durable
        self._doubts: dict[int, _Doubt] = {}
        self._doubts_at = -1
        self._pictures: dict[int, int] = {}
        self._pictures_at = -1
        self._features: dict[int, Vector] = {}
        self._features_at = -1
        self._lock = threading.Lock()

    def page(self, query: SampleQuery) -> _SamplePage:
        """Return a page of the samples in force.

        Raises:
            JournalError: the journal cannot be read.
        """
        table = self._durable.reading()
        chosen = [number for number, sample in table.samples.items()
                  if (not query.label or query.label in sample.labels)
                  and query.annotator in (None, sample.annotator)]
        doubts: dict[int, _Doubt] = {}
        if query.order is SampleOrder.DOUBTFUL:
            doubts = self._ranked(table, renew=query.offset == 0)
            chosen.sort(key=lambda number: -doubts.get(number, _Doubt(-math.inf)).amount)
        elif query.order is SampleOrder.NEAREST:
            chosen = self._nearest(table, chosen, query.near)
        elif query.order is SampleOrder.NEWEST:
            chosen.reverse()
        pictures = self._picture_entries()
        shown = chosen[query.offset:query.offset + min(query.limit, MOST_LISTED)]
        return _SamplePage(
            len(chosen), [_listed(table, number, pictures, doubts.get(number, _Doubt()))
                          for number in shown],
            sorted({sample.annotator for sample in table.samples.values()}))

    def sample(self, number: int) -> tuple[TaughtSample, Picture | None]:
        """Return one sample with its picture.

        Raises:
            SampleError: it is not part of the model.
            JournalError: the journal cannot be read.
        """
        table = self._durable.reading()
        if number not in table.samples:
            raise SampleError(f'sample {number} is not part of the model (any more)')
        entry = self._picture_entries().get(number)
        picture = None if entry is None else self._durable.journal.picture(entry)
        listed = _listed(table, number, self._pictures, self._doubts.get(number, _Doubt()))
        return listed, picture

    def _picture_entries(self) -> dict[int, int]:
        journal = self._durable.journal
        with self._lock:
            if self._pictures_at != journal.last_number:
                self._pictures_at = journal.last_number
                self._pictures = journal.pictures()
            return self._pictures

    def _nearest(self, table: SampleTable, chosen: list[int], near: Vector | None) -> list[int]:
        """Return the samples by the angle between their features and a vector, nearest first."""
        with self._lock:
            if self._features_at != table.last:
                newest = list(table.samples)[-_MOST_COMPARED:]
                found = list(self._durable.features(newest))
                self._features = {number: _unit(values) for number, values in found}
                self._features_at = table.last
            features = self._features
        compared = [number for number in chosen if number in features]
        if near is None or not compared:
            return []
        if len(near) != len(features[compared[0]]):
            raise SampleError(f'{len(near)} features cannot be compared with samples of '
                              f'{len(features[compared[0]])}')
        likeness = np.array([features[number] for number in compared]) @ _unit(near)
        return [compared[place] for place in np.argsort(-likeness, kind='stable')]

    def _ranked(self, table: SampleTable, renew: bool) -> dict[int, _Doubt]:
        """Return the doubts about all samples; later pages are of the same list as the first."""
        with self._lock:
            if self._doubts_at != table.last and (renew or not self._doubts):
                with self._durable.lock:  # Both of one time; the learner goes on meanwhile.
                    table = self._durable.reading()
                    learner = self._durable.model.learner.copy()
                self._doubts = dict(doubts_of(self._durable, table, learner))
                self._doubts_at = table.last
            return self._doubts


def _unit(values: npt.ArrayLike) -> Vector:
    """Return features as a vector of length 1; of length 0 where there is nothing to compare."""
    vector = np.asarray(values, np.float32)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 and math.isfinite(length) else np.zeros_like(vector)


def doubts_of(durable: DurableModel, table: SampleTable,
              learner: ProEMLC) -> Iterator[tuple[int, _Doubt]]:
    """Yield how much the others contradict each sample; their features come from the journal."""
    names, thresholds = learner.labels, learner.thresholds
    least = learner.decision.at_least
    columns = {name: column for column, name in enumerate(names)}
    samples = durable.features(table.samples)
    while block := list(islice(samples, _BLOCK)):
        said = [accepted_labels(table.samples[number]) for number, _ in block]
        margins = learner.left_out_scores(
            np.array([values for _, values in block]), said) - thresholds
        for labels, row, (number, _) in zip(said, margins, block):
            yield number, _doubt(names, row, _targets(labels, columns), least)


def _targets(said: SampleLabels, columns: dict[str, int]) -> npt.NDArray[np.float64]:
    """Return 1 for labels that are present, -1 for absent ones, NaN for the others."""
    targets = np.full(len(columns), -1.0 if said.complete else math.nan)
    targets[[columns[name] for name in said.present]] = 1.0
    if not said.complete:
        targets[[columns[name] for name in said.absent]] = -1.0
    return targets


def _doubt(names: list[str], margins: npt.NDArray[np.floating],
           targets: npt.NDArray[np.floating], least: int) -> _Doubt:
    """Return the doubt about one sample.

    Args:
        names: of the labels.
        margins: its left-out scores, less the thresholds.
        targets: what was said, as _targets has it.
        least: labels that are predicted at least.
    """
    best = np.argsort(-margins, kind='stable')
    predicted = margins > 0.0
    predicted[best[:least]] = True
    expected = tuple(names[place] for place in best if predicted[place])
    said = ~np.isnan(targets)
    if not said.any():
        return _Doubt(expected=expected)
    against = np.where(said, -margins * targets, -math.inf)
    contradicted = np.where(predicted != (targets > 0.0), against, -math.inf)
    worst = int(contradicted.argmax())
    return _Doubt(float(against.max()),
                  names[worst] if contradicted[worst] > 0.0 else '', expected)


def _listed(table: SampleTable, number: int, pictures: dict[int, int],
            doubt: _Doubt) -> TaughtSample:
    return TaughtSample(number, table.steps[number].time, table.samples[number],
                        number in pictures, *doubt)


def _steps_text(steps: Sequence[ModelStep]) -> str:
    """Return what several steps did, such as "taught 'cup', 30 times" of a burst."""
    runs = [(text, len(list(same))) for text, same in groupby(step.record.text for step in steps)]
    texts = [text + (f', {count} times' if count > 1 else '') for text, count in runs[:3]]
    more = sum(count for _, count in runs[3:])
    return '; '.join(texts) + (f' and {more} more' if more else '')
