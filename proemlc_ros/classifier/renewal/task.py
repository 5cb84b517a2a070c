# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the process of a renewal does: read the samples, choose, compare, learn, write a file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from proemlc_ros.classifier.corrections.history import History
from proemlc_ros.classifier.durability.journal_protocol import EntryProtocol
from proemlc_ros.classifier.versioned_model import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection.renewal import (
    begin_renewal,
    end_renewal,
    is_better,
    left_out_point,
    plan_for,
)
from proemlc_ros.core.selection.result import Point
from proemlc_ros.errors import RenewalError
from proemlc_ros.records import Annotation, EventKind, Vector

# Bytes of features that are held in memory; of a longer journal, layer, settings and decision
# rule are chosen from samples drawn at random, and all samples are learnt block by block.
RESERVOIR_BYTES = 64_000_000
_BLOCK = 1024

ReadEntries = Callable[[], Iterable[EntryProtocol]]


@dataclass(frozen=True)
class RenewalTask:
    """What is to be renewed.

    Args:
        journal: folder of the journal.
        running: file with the running model, to compare with.
        output: file for the renewed model.
        position: number of the last entry that the running model has learnt.
        not_learnt: numbers of entries that it has not learnt.
        most: hidden neurons at most.
        reservoir_bytes: bytes of features that may be held in memory.
        niceness: added to the niceness of the process for the work behind the reading.
    """

    journal: str
    running: str
    output: str
    position: int
    not_learnt: tuple[int, ...] = ()
    most: int = 1000
    reservoir_bytes: int = RESERVOIR_BYTES
    niceness: int = 19

    def to_json(self) -> str:
        """Return the task as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RenewalTask:
        """Return the task of a line."""
        fields = json.loads(text)
        return cls(**{**fields, 'not_learnt': tuple(fields['not_learnt'])})


@dataclass(frozen=True)
class RenewalResult:
    """What came of it.

    Args:
        better: whether the renewed model is better, and its file written.
        samples: that it has learnt.
        drawn: of these, how many layer and settings were chosen from.
        f1: example-based F1 of the renewed model, with each burst left out.
        running_f1: the same of the running model; None: it has no layer yet.
        settings: of the renewed model, in words.
        seconds: that it took.
    """

    better: bool
    samples: int
    drawn: int
    f1: float
    running_f1: float | None
    settings: str
    seconds: float

    def to_json(self) -> str:
        """Return the result as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RenewalResult:
        """Return the result of a line."""
        return cls(**json.loads(text))


def renew(task: RenewalTask, read: ReadEntries,
          on_read: Callable[[], None] = lambda: None) -> RenewalResult:
    """Choose and fit everything again from the journal; write the file where it is better.

    Args:
        task: what is to be renewed.
        read: returns the entries of the journal, from the first one on.
        on_read: called when the samples are read, and only work is left.

    Raises:
        RenewalError: the journal does not have the samples of the model.
        ProEMLCError, OSError: the samples or the files cannot be used.
    """
    began = time.monotonic()
    running = ProEMLC.load(task.running)
    samples = JournalSamples(task, read)
    samples.require(running)
    rows, annotations = samples.drawn()
    on_read()
    plan = plan_for(rows, [accepted_labels(said) for said in annotations], running.options,
                    task.most)
    before = left_out_point(plan, running)
    better = is_better(plan.point, before, len(annotations))
    if better:
        renewed = begin_renewal(plan, running.labels)
        for block in samples.blocks():
            renewed.learn(np.array([said.matched_features for said in block]),
                          [accepted_labels(said) for said in block])
        end_renewal(plan, renewed)
        renewed.save(task.output)
    return RenewalResult(better, len(samples.numbers), len(annotations), plan.point.left_out_f1,
                         None if before is None else before.left_out_f1, in_words(plan.point),
                         time.monotonic() - began)


def in_words(point: Point) -> str:
    """Return the settings of a point in a few words."""
    options = point.options
    links = ', direct links' if options.direct_links else ''
    return (f'{options.activation}, {options.hidden_size} hidden, scaling {options.scaling}, '
            f'ridge {options.ridge:g}{links}')


@dataclass
class JournalSamples:
    """The samples of a journal that are in force.

    Attributes:
        numbers: of their entries, with their labels as they are now.
    """

    task: RenewalTask
    read: ReadEntries
    numbers: dict[int, Annotation] = field(init=False)

    def __post_init__(self) -> None:
        """Read what was done, and the features as long as they fit into the memory."""
        history, left = History(), self.task.reservoir_bytes
        kept: dict[int, Vector] | None = {}
        for entry in self._entries():
            history.follow([entry])
            if kept is not None and isinstance(entry.record, Annotation):
                kept[entry.number] = entry.record.matched_features
                left -= kept[entry.number].nbytes
                kept = kept if left >= 0 else None
        self._kept = kept
        self._origin = history.steps.get(history.origin)
        self.numbers = {number: said for number, said in history.samples.items()
                        if number not in self.task.not_learnt}

    def require(self, running: ProEMLC) -> None:
        """Check that these are the samples that a model has learnt.

        Raises:
            RenewalError: they are not.
        """
        if self._origin is not None and self._origin.kind is EventKind.LOAD:
            raise RenewalError('the model began with a file whose samples are not in the journal')
        if len(self.numbers) != running.samples:
            raise RenewalError(f'the journal has {len(self.numbers)} of the {running.samples} '
                               'samples of the model')

    def drawn(self) -> tuple[Any, list[Annotation]]:
        """Return the samples to choose by: all, or as many as fit into the memory, at random."""
        numbers = list(self.numbers)
        if self._kept is None:
            bare = next(iter(self._with_features(numbers[:1])))
            most = max(1, self.task.reservoir_bytes // bare.matched_features.nbytes)
            random = np.random.default_rng(0)
            numbers = sorted(random.permutation(numbers)[:most].tolist())
        found = list(self._with_features(numbers))
        return np.array([said.matched_features for said in found]), found

    def blocks(self) -> Iterator[list[Annotation]]:
        """Yield all samples, in order."""
        samples = iter(self._with_features(self.numbers))
        while block := list(islice(samples, _BLOCK)):
            yield block

    def _with_features(self, numbers: Iterable[int]) -> Iterator[Annotation]:
        if self._kept is not None:
            for number in numbers:
                yield self.numbers[number]._replace(features=self._kept[number])
            return
        wanted = set(numbers)
        for entry in self._entries():
            if entry.number in wanted and isinstance(entry.record, Annotation):
                yield self.numbers[entry.number]._replace(features=entry.record.features)

    def _entries(self) -> Iterator[EntryProtocol]:
        for entry in self.read():
            if entry.number > self.task.position:
                return
            yield entry
