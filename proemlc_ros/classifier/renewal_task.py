# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a renewal: read the samples, choose, compare, learn, write a file.

    python -m proemlc_ros.classifier.renewal_task

The node starts it. It gets its task as one line on the standard input and answers with one line.
When the input ends, the node is gone, and so is this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.classifier.profiles import has_common_scale
from proemlc_ros.classifier.versioned_model import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection.candidates import Point
from proemlc_ros.core.selection.renewal import (
    begin_renewal,
    end_renewal,
    is_better,
    left_out_point,
    plan_for,
)
from proemlc_ros.errors import ProEMLCError, RenewalError
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Annotation, Vector

# Bytes of features that are held in memory; of a longer journal, layer, settings and decision
# rule are chosen from samples drawn at random, and all samples are learnt block by block.
_RESERVOIR_BYTES = 64_000_000
_BLOCK = 1024

_ReadEntries = Callable[[], Iterable[JournalEntry]]


@dataclass(frozen=True)
class RenewalTask:
    """What is to be renewed.

    Args:
        journal: folder of the journal.
        running: file with the running model, to compare with.
        output: file for the renewed model.
        position: number of the last entry that the running model has learnt.
        rejected: numbers of entries that it has not learnt.
        most: hidden neurons at most.
        reservoir_bytes: bytes of features that may be held in memory.
        niceness: added to the niceness of the process for the work behind the reading.
        extractor: of the features; '': not known.
        for_labels: whether labels need neurons, so that it is enough not to be worse.
    """

    journal: str
    running: str
    output: str
    position: int
    rejected: tuple[int, ...] = ()
    most: int = 1000
    reservoir_bytes: int = _RESERVOIR_BYTES
    niceness: int = 19
    extractor: str = ''
    for_labels: bool = False

    def to_json(self) -> str:
        """Return the task as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RenewalTask:
        """Return the task of a line."""
        fields = json.loads(text)
        return cls(**{**fields, 'rejected': tuple(fields['rejected'])})


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


def renew(task: RenewalTask, read: _ReadEntries,
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
    samples = _JournalSamples(task, read)
    samples.require(running)
    rows, annotations = samples.drawn()
    on_read()
    plan = plan_for(rows, [accepted_labels(said) for said in annotations], running.options,
                    task.most, has_common_scale(task.extractor))
    before = left_out_point(plan, running)
    better = is_better(plan.point, before, len(annotations), plan.per_label, task.for_labels)
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
class _JournalSamples:
    """The samples of a journal that are in force.

    Attributes:
        numbers: of their entries, with their labels as they are now.
    """

    task: RenewalTask
    read: _ReadEntries
    numbers: dict[int, Annotation] = field(init=False)

    def __post_init__(self) -> None:
        """Read what was done, and the features as long as they fit into the memory."""
        table, left = SampleTable(), self.task.reservoir_bytes
        for number in self.task.rejected:
            table.reject(number)
        kept: dict[int, Vector] | None = {}
        for entry, _ in table.changes(self._entries()):
            if kept is not None and isinstance(entry.record, Annotation):
                kept[entry.number] = entry.record.matched_features
                left -= kept[entry.number].nbytes
                kept = kept if left >= 0 else None
        self._kept = kept
        self.numbers = table.samples

    def require(self, running: ProEMLC) -> None:
        """Check that these are the samples that a model has learnt.

        Raises:
            RenewalError: they are not.
        """
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

    def _entries(self) -> Iterator[JournalEntry]:
        for entry in self.read():
            if entry.number > self.task.position:
                return
            yield entry


def main() -> int:
    """Do the task and return the exit code."""
    # Ctrl-C in a terminal is for the node, which ends this process itself. A session of its own
    # would do as well, but Linux shares the processors out by sessions (autogroup): this process
    # would get as much as the node and all that was started with it, whatever its priority.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task = RenewalTask.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_the_node, daemon=True).start()
    try:
        # Reading takes short locks of the journal, for which the node may have to wait; so it is
        # done at the node's own priority.
        result = renew(task, Journal(Path(task.journal), read_only=True).entries,
                       lambda: _step_back(task.niceness))
    except (ProEMLCError, OSError) as error:
        print(' '.join(str(error).split()), flush=True)
        return 1
    print(result.to_json(), flush=True)
    return 0


def _step_back(niceness: int) -> None:
    """Let everything else on the machine go first."""
    os.nice(niceness)
    # A niceness alone lets others wait for the end of a time slice; this is interrupted at once.
    if hasattr(os, 'SCHED_IDLE'):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_the_node() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
