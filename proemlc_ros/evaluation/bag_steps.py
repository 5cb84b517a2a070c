# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of bags, read in this process or in a second one.

The second process reads, validates and matches while this one learns. The steps are the same.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import BagRecord, TopicSelection, find_sources
from proemlc_ros.classifier.matching import MatchingRules
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE
from proemlc_ros.errors import BagError, ProEMLCError
from proemlc_ros.evaluation.annotation_stream import AnnotationBlock, AnnotationStream, Step
from proemlc_ros.evaluation.taught_samples import (
    TaughtInBag,
    TaughtSamples,
    open_journal,
    taught_in_journal,
)

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

# Bytes of a bag from which on a second process pays for its start.
_LONG = 16_000_000
# Bytes of steps that may be on their way, so that neither process waits for the other.
_PIPE = 1 << 20


@dataclass(frozen=True)
class BagSet:
    """Bags, and how to read them.

    Attributes:
        paths: In the order to be read.
        topics: Which of their topics to read.
        rules: How annotations find their feature vectors.
        best_effort: Whether to read the intact part of damaged bags.
        parallel: Whether long bags are read in a second process.
        progress: Called with the numbers of messages read; None: nobody asks.
    """

    paths: Sequence[Path]
    topics: TopicSelection = field(default_factory=TopicSelection)
    rules: MatchingRules = field(default_factory=MatchingRules)
    best_effort: bool = False
    parallel: bool = False
    progress: Callable[[int], None] | None = None

    def open(self, path: Path) -> BagReader:
        """Open one of the bags."""
        return BagReader(path, self.best_effort)

    def count_messages(self) -> int:
        """Return the number of messages to read."""
        total = 0
        for path in self.paths:
            journal = open_journal(path)
            if journal is not None:
                total += sum(report.usable for report in journal.reports)
                continue
            with self.open(path) as bag:
                total += find_sources(bag, self.topics).count
        return total

    def steps(self, path: Path, stream: AnnotationStream, needs_annotations: bool = False,
              as_it_stands: bool = False) -> BagSteps:
        """Return the steps of one of the bags; see `BagSteps`."""
        long = self.parallel and _size(path) >= _LONG and (os.cpu_count() or 1) > 1
        return (_ParallelBagSteps if long else BagSteps)(
            self, path, stream, needs_annotations, as_it_stands)


@dataclass
class BagSteps:
    """The steps of one bag, each with the number of messages read for it.

    Attributes:
        bags: How to read it.
        path: The bag.
        stream: Turns its messages into steps.
        needs_annotations: Whether it is useless without annotations.
        as_it_stands: Whether only the samples in force at the end are wanted, not those before a
            reset.
        start: Beginning of the bag in nanoseconds, once it is open.
        notes: Defects of the bag, at the end.
        labels: Of the samples in force, in their order, at the end; empty: not told.
    """

    bags: BagSet
    path: Path
    stream: AnnotationStream
    needs_annotations: bool = False
    as_it_stands: bool = False
    start: int = 0
    notes: list[str] = field(default_factory=list)
    labels: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[Step, int]]:
        """Yield the steps.

        Raises:
            BagError: The bag cannot be read, or lacks annotations that it needs.
        """
        counter = _MessageCounter()
        taught: TaughtSamples | None = taught_in_journal(
            self.path, self.bags.topics, self.as_it_stands, self.bags.best_effort)
        if taught is not None:
            self.start = taught.start
            yield from self._taught(taught, counter)
            return
        with self.bags.open(self.path) as bag:
            self.start = bag.start
            if self.needs_annotations and not bag.of_type(ANNOTATION_TYPE):
                raise BagError(
                    f'{bag.path}: no annotations to compare predictions with; add some with '
                    '"proemlc bag annotate", or write the predictions with --predictions FILE')
            if bag.of_type(EVENT_TYPE):
                yield from self._taught(
                    TaughtInBag(bag, self.bags.topics, self.as_it_stands), counter)
                return
            sources = find_sources(bag, self.bags.topics)
            for step in self.stream.steps(counter.counted(sources.stream(bag))):
                yield step, counter.take()
            self.stream.rejects.update(sources.rejects)
            self.notes = [f'{self.path.name}: {note}' for note in bag.notes]

    def _taught(self, taught: TaughtSamples,
                counter: _MessageCounter) -> Iterator[tuple[Step, int]]:
        """Yield the steps of what was taught, corrected since."""
        for step in self.stream.steps(counter.counted(taught.records())):
            yield step, counter.take()
        self.labels = tuple(taught.table.state.labels)
        self.notes = taught.notes
        self.stream.rejects.update(taught.rejects)

    def annotation_blocks(self) -> Iterator[AnnotationBlock]:
        """Yield the annotations alone, and tell how many messages were read for them."""
        tell = self.bags.progress or (lambda _: None)
        for step, messages in self:
            tell(messages)
            if isinstance(step, AnnotationBlock):
                yield step


@dataclass
class _ParallelBagSteps(BagSteps):
    """The same, read in a second process."""

    def __iter__(self) -> Iterator[tuple[Step, int]]:
        """Yield the steps as they arrive."""
        context = fork_context(__name__)
        receiver, sender = context.Pipe(duplex=False)
        with suppress(OSError, AttributeError):  # Linux only, and it may reject the size.
            fcntl.fcntl(sender.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        steps = BagSteps(replace(self.bags, progress=None), self.path, self.stream,
                         self.needs_annotations, self.as_it_stands)
        reader = context.Process(target=_send_steps, args=(sender, steps), daemon=True)
        reader.start()
        sender.close()
        try:
            while not isinstance(item := self._receive(receiver), BagSteps):
                yield item
            self.start, self.notes, self.labels = item.start, item.notes, item.labels
            self.stream.take_over(item.stream)
        finally:
            receiver.close()
            reader.join()

    def _receive(self, receiver: Connection) -> tuple[Step, int] | BagSteps:
        try:
            item: tuple[Step, int] | BagSteps | ProEMLCError = receiver.recv()
        except EOFError:
            raise BagError(f'{self.path}: the process that reads it ended; '
                           'is there enough memory?') from None
        if isinstance(item, ProEMLCError):
            raise item
        return item


def fork_context(*modules: str) -> ForkServerContext | SpawnContext:
    """Return a context for processes that find these modules loaded, where that is possible.

    They are forked from a server, which has no threads; this process may have some, of BLAS or
    ROS.
    """
    if 'forkserver' not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context('spawn')
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(list(modules))
    return context


def _send_steps(sender: Connection, steps: BagSteps) -> None:
    """Read a bag and send its steps, then the reading."""
    # Ctrl-C reaches both processes; this one ends when the other stops receiving.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for item in steps:
            sender.send(item)
        sender.send(steps)
    except ProEMLCError as error:
        # As the plain kind: not all others can be pickled.
        sender.send(BagError(str(error)))
    except BrokenPipeError:
        pass  # The other side has stopped receiving.


class _MessageCounter:
    """Counts the messages between steps."""

    def __init__(self) -> None:
        self._count = 0

    def counted(
        self, messages: Iterable[tuple[int, BagRecord]],
    ) -> Iterator[tuple[int, BagRecord]]:
        for item in messages:
            self._count += 1
            yield item

    def take(self) -> int:
        count, self._count = self._count, 0
        return count


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
