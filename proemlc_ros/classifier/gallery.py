# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What was taught, to be looked through: samples by time, label, person and doubt.

Nothing here changes the model, and nothing waits for it: scores are worked out on a copy.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.following import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.errors import SampleError
from proemlc_ros.journal.table import ModelStep, SampleTable
from proemlc_ros.records import Annotation, Picture

MOST_LISTED = 1000
# Samples whose left-out scores are worked out together.
_BLOCK = 256


class SampleOrder(IntEnum):
    """Order of a list of samples; the values are those of ListSamples."""

    NEWEST = 0
    OLDEST = 1
    DOUBTFUL = 2


class Doubt(NamedTuple):
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
class SampleQuery:
    """Which samples to list.

    Args:
        label: that they show; empty: any.
        annotator: who taught them; None: anybody.
        order: of the list.
        offset: samples to skip.
        limit: samples to return at most.
    """

    label: str = ''
    annotator: str | None = None
    order: SampleOrder = SampleOrder.NEWEST
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ListedSample:
    """A learnt sample.

    Args:
        step: with which it was taught.
        annotation: as it is now, without features.
        has_picture: whether the journal has a picture of it.
        doubt: how much the others contradict it.
    """

    step: ModelStep
    annotation: Annotation
    has_picture: bool
    doubt: Doubt


@dataclass(frozen=True, slots=True)
class SamplePage:
    """Part of a list of samples, how long the whole is, and who has taught them."""

    total: int
    samples: list[ListedSample]
    annotators: list[str]


class Gallery:
    """Lists the samples of a durable model; safe to use from several threads.

    Args:
        durable: the model.
    """

    def __init__(self, durable: DurableModel) -> None:
        self._durable = durable
        self._doubts: dict[int, Doubt] = {}
        self._doubts_at = -1
        self._pictures: dict[int, int] = {}
        self._pictures_at = -1
        self._lock = threading.Lock()

    def page(self, query: SampleQuery) -> SamplePage:
        """Return a page of the samples in force.

        Raises:
            JournalError: the journal cannot be read.
        """
        table = self._durable.reading()
        chosen = [number for number, sample in table.samples.items()
                  if (not query.label or query.label in sample.labels)
                  and query.annotator in (None, sample.annotator)]
        doubts: dict[int, Doubt] = {}
        if query.order is SampleOrder.DOUBTFUL:
            doubts = self._ranked(table, renew=query.offset == 0)
            chosen.sort(key=lambda number: -doubts.get(number, Doubt(-math.inf)).amount)
        elif query.order is SampleOrder.NEWEST:
            chosen.reverse()
        pictures = self._picture_entries()
        shown = chosen[query.offset:query.offset + min(query.limit, MOST_LISTED)]
        return SamplePage(
            len(chosen), [_listed(table, number, pictures, doubts.get(number, Doubt()))
                          for number in shown],
            sorted({sample.annotator for sample in table.samples.values()}))

    def sample(self, number: int) -> tuple[ListedSample, Picture | None]:
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
        listed = _listed(table, number, self._pictures, self._doubts.get(number, Doubt()))
        return listed, picture

    def _picture_entries(self) -> dict[int, int]:
        journal = self._durable.journal
        with self._lock:
            if self._pictures_at != journal.last_number:
                self._pictures_at = journal.last_number
                self._pictures = journal.pictures()
            return self._pictures

    def _ranked(self, table: SampleTable, renew: bool) -> dict[int, Doubt]:
        """Return the doubts about all samples; later pages are of the same list as the first."""
        with self._lock:
            if self._doubts_at != table.last and (renew or not self._doubts):
                with self._durable.lock:  # Both of one time; the learner goes on meanwhile.
                    table = self._durable.reading()
                    learner = self._durable.model.learner.copy()
                self._doubts = dict(doubts_of(self._durable, table, learner))
                self._doubts_at = table.last
            return self._doubts


def doubts_of(durable: DurableModel, table: SampleTable,
              learner: ProEMLC) -> Iterator[tuple[int, Doubt]]:
    """Yield how much the others contradict each sample; their features come from the journal."""
    names, thresholds = learner.labels, learner.thresholds
    columns = {name: column for column, name in enumerate(names)}
    samples = durable.features(table.samples)
    while block := list(islice(samples, _BLOCK)):
        said = [accepted_labels(table.samples[number]) for number, _ in block]
        margins = learner.left_out_scores(
            np.array([values for _, values in block]), said) - thresholds
        against = -margins * np.array([_targets(labels, columns) for labels in said])
        against[np.isnan(against)] = -math.inf  # Nothing was said about these.
        for place, (number, _) in enumerate(block):
            yield number, _doubt(names, margins[place], against[place])


def _targets(said: SampleLabels, columns: dict[str, int]) -> npt.NDArray[np.float64]:
    """Return 1 for labels that are present, -1 for absent ones, NaN for the others."""
    targets = np.full(len(columns), -1.0 if said.complete else math.nan)
    targets[[columns[name] for name in said.present]] = 1.0
    if not said.complete:
        targets[[columns[name] for name in said.absent]] = -1.0
    return targets


def _doubt(names: list[str], margins: npt.NDArray[np.floating],
           against: npt.NDArray[np.floating]) -> Doubt:
    """Return the doubt about one sample.

    Args:
        names: of the labels.
        margins: its left-out scores, less the thresholds.
        against: the same, above 0 where it contradicts what was said.
    """
    above = np.flatnonzero(margins > 0.0)
    expected = tuple(names[place] for place in above[np.argsort(-margins[above])])
    if not np.isfinite(against).any():
        return Doubt(expected=expected)
    worst = int(against.argmax())
    return Doubt(float(against[worst]), names[worst] if against[worst] > 0.0 else '', expected)


def _listed(table: SampleTable, number: int, pictures: dict[int, int],
            doubt: Doubt) -> ListedSample:
    return ListedSample(table.steps[number], table.samples[number], number in pictures, doubt)
