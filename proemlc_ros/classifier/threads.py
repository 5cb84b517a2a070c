# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The threads that wait for the disk, so that predictions need not: one learns, one snapshots."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.matching import PendingAnnotation
from proemlc_ros.errors import JournalError, ProEMLCError, RateExceededError
from proemlc_ros.records import Learnt


@dataclass(slots=True, eq=False)
class PendingChange:
    """A change of the model in the queue, and the future that gets its result."""

    action: Callable[[], Any]
    future: Future[Any]


class LearningThread:
    """Learns queued annotations in order, all that wait in one journal transaction.

    Args:
        model: what learns.
        capacity: annotations that may wait.
        on_error: called with failures that are no fault of a client, in words.
    """

    def __init__(self, model: DurableModel, capacity: int,
                 on_error: Callable[[str], None]) -> None:
        self.capacity = capacity
        self._model = model
        self._on_error = on_error
        self._queue: deque[PendingAnnotation | PendingChange] = deque()
        self._condition = threading.Condition(lock := threading.Lock())
        self._room = threading.Condition(lock)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='learning', daemon=True)
        self._thread.start()

    def put(self, pending: PendingAnnotation, timeout: float = 0.0) -> None:
        """Queue an annotation that is settled; reject it where it has an error or no room.

        Args:
            pending: the annotation.
            timeout: seconds to wait for room.
        """
        error: ProEMLCError | None = pending.error
        if error is None:
            with self._condition:
                if timeout and len(self._queue) >= self.capacity:
                    self._room.wait_for(lambda: len(self._queue) < self.capacity, timeout)
                if len(self._queue) < self.capacity:
                    self._queue.append(pending)
                    self._condition.notify()
                    return
            error = RateExceededError(
                'queue_full', f'{self.capacity} annotations already wait to be written; '
                'annotate more slowly or raise held_annotations')
        resolve(pending, error)

    def call(self, action: Callable[[], Any]) -> Future[Any]:
        """Queue a change of the model, behind the annotations before it.

        Returns:
            A future with the action's result or its error.
        """
        future: Future[Any] = Future()
        with self._condition:
            self._queue.append(PendingChange(action, future))
            self._condition.notify()
        return future

    def close(self) -> None:
        """Finish what is queued and stop."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._queue and not self._stopping:
                    self._condition.wait()
                if not self._queue:
                    return
                work = list(self._queue)
                self._queue.clear()
                self._room.notify_all()
            # Annotations that wait side by side share a transaction.
            for _, group in groupby(work, key=type):
                items = list(group)
                self._learn([item for item in items if isinstance(item, PendingAnnotation)])
                self._change([item for item in items if isinstance(item, PendingChange)])

    def _learn(self, block: list[PendingAnnotation]) -> None:
        if not block:
            return
        results: list[Learnt | ProEMLCError]
        try:
            results = self._model.learn([pending.annotation for pending in block])
        except Exception as error:  # A fault of ours; whoever waits must be answered.
            self._on_error(f'learning failed: {error!r}')
            results = [JournalError(f'internal error: {error!r}')] * len(block)
        for pending, result in zip(block, results, strict=True):
            resolve(pending, result)

    def _change(self, changes: Iterable[PendingChange]) -> None:
        for change in changes:
            try:
                result = change.action()
            except (ProEMLCError, OSError) as error:
                change.future.set_exception(error)
            except Exception as error:  # A fault of ours; the thread must live on.
                self._on_error(f'a change of the model failed: {error!r}')
                change.future.set_exception(error)
            else:
                change.future.set_result(result)


def resolve(pending: PendingAnnotation, result: Learnt | ProEMLCError) -> None:
    """Give the result of an annotation to whoever waits for it."""
    if pending.future is None:
        return
    if isinstance(result, Learnt):
        pending.future.set_result(result)
    else:
        pending.future.set_exception(result)


class SnapshotThread:
    """Writes snapshots when they are due.

    Args:
        model: whose snapshots.
        on_error: called with failures, in words.
    """

    def __init__(self, model: DurableModel, on_error: Callable[[str], None]) -> None:
        self.every = 100
        self.period = 60.0
        self._model = model
        self._on_error = on_error
        self._due = threading.Event()
        self._stopping = False
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name='snapshots', daemon=True)
        self._thread.start()

    def consider(self) -> None:
        """Write a snapshot if enough was learnt or enough time has passed since the last one."""
        unsaved = self._model.unsaved
        if unsaved >= self.every or (
                unsaved and time.monotonic() - self._last >= self.period):
            self._due.set()

    def close(self) -> None:
        """Stop, and write what no snapshot holds yet."""
        self._stopping = True
        self._due.set()
        self._thread.join()
        if self._model.unsaved or self._model.snapshots.time is None:
            self._write()

    def _run(self) -> None:
        while True:
            self._due.wait()
            if self._stopping:
                return
            self._due.clear()
            self._write()

    def _write(self) -> None:
        try:
            self._model.snapshot()
        except (OSError, ProEMLCError) as error:
            self._on_error(f'cannot write the snapshot: {error}; the journal has everything')
        except Exception as error:  # The thread must live on.
            self._on_error(f'cannot write the snapshot: {error!r}')
        finally:
            self._last = time.monotonic()
