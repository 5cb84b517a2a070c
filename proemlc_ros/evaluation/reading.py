# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a recording step by step, in this process or in one beside it.

A process beside it reads, checks and matches while this one learns: with two cores a long
recording takes about two thirds of the time. What comes out is the same.
"""

from __future__ import annotations

import fcntl
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import BagRecord, TopicSelection, find_sources
from proemlc_ros.conversions import ANNOTATION_TYPE
from proemlc_ros.errors import BagError, ProEMLCError
from proemlc_ros.evaluation.forking import fork_context
from proemlc_ros.evaluation.steps import Step, Steps

# Bytes of blocks that may be on their way, so that neither process waits for the other.
_PIPE = 1 << 20


@dataclass(frozen=True)
class BagToRead:
    """One recording and how to read it.

    Attributes:
        path: The recording.
        choice: Which of its topics to read.
        best_effort: Whether to use what is readable of a damaged one.
        needs_annotations: Whether it is useless without annotations.

    """

    path: Path
    choice: TopicSelection
    best_effort: bool
    needs_annotations: bool


@dataclass
class Reading:
    """The steps of one recording, each with the number of messages read for it.

    Attributes:
        bag: The recording.
        steps: Where its messages go in.
        start: Its beginning in nanoseconds, once it is open.
        notes: What is not as it should be with it, at the end.

    """

    bag: BagToRead
    steps: Steps
    start: int = 0
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[Step, int]]:
        """Yield the steps."""
        with BagReader(self.bag.path, self.bag.best_effort) as bag:
            self.start = bag.start
            if self.bag.needs_annotations and not bag.of_type(ANNOTATION_TYPE):
                raise BagError(
                    f'{bag.path}: no annotations in it to compare predictions with; add some with '
                    '"proemlc bag annotate", or write the predictions with --predictions FILE')
            sources = find_sources(bag, self.bag.choice)
            counter = _Counter()
            for step in self.steps.of(counter.counted(sources.stream(bag))):
                yield step, counter.taken()
            self.steps.rejects.update(sources.rejects)
            self.notes = [f'{self.bag.path.name}: {note}' for note in bag.notes]


@dataclass
class ReadingBeside(Reading):
    """The same, read in another process."""

    def __iter__(self) -> Iterator[tuple[Step, int]]:
        """Yield the steps as they arrive."""
        context = fork_context(__name__)
        receiver, sender = context.Pipe(duplex=False)
        with suppress(OSError, AttributeError):  # Linux alone can, and may not be willing to.
            fcntl.fcntl(sender.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        reader = context.Process(
            target=_read_beside, args=(sender, self.bag, self.steps), daemon=True)
        reader.start()
        sender.close()
        try:
            while not isinstance(item := self._receive(receiver), Reading):
                yield item
            self.start, self.notes = item.start, item.notes
            self.steps.take_over(item.steps)
        finally:
            receiver.close()
            reader.join()

    def _receive(self, receiver: Connection) -> object:
        try:
            item = receiver.recv()
        except EOFError:
            raise BagError(f'{self.bag.path}: the process that reads it ended; '
                           'is there enough memory?') from None
        if isinstance(item, ProEMLCError):
            raise item
        return item


def _read_beside(sender: Connection, bag: BagToRead, steps: Steps) -> None:
    """Read a recording and send its steps, then what is to be said about it."""
    # Ctrl-C reaches all processes; this one ends when nobody listens any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reading = Reading(bag, steps)
    try:
        for item in reading:
            sender.send(item)
        sender.send(reading)
    except ProEMLCError as error:
        # As the plain kind: others do not all travel.
        sender.send(BagError(str(error)))
    except BrokenPipeError:
        pass  # The other side has stopped listening.


class _Counter:
    """Counts messages between steps."""

    def __init__(self) -> None:
        self._count = 0

    def counted(self, stream: Iterable[tuple[int, BagRecord]]) -> Iterator[tuple[int, BagRecord]]:
        for item in stream:
            self._count += 1
            yield item

    def taken(self) -> int:
        count, self._count = self._count, 0
        return count
