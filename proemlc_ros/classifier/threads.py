# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Work that waits for the disk, so that predictions need not: one thread learns, one snapshots.

A client that got no answer cannot tell whether its annotation was learnt. It gives each request an
id of its own and repeats it with the same id: each is learnt once, and the first answer stands.
The answer is written to the journal in the same transaction as the annotation, so that a crash
does not separate them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from queue import SimpleQueue
from typing import Any

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.matching import PendingAnnotation
from proemlc_ros.errors import (
    JournalError,
    ProEMLCError,
    RateExceededError,
    TextRejectedError,
    WorkCancelledError,
)
from proemlc_ros.foreign_text import shown
from proemlc_ros.records import ClientRequest, Learnt


@dataclass(slots=True, eq=False)
class _PendingChange:
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
        self._queue: deque[PendingAnnotation | _PendingChange] = deque()
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
        _resolve(pending.future, error)

    def call(self, action: Callable[[], Any]) -> Future[Any]:
        """Queue a change of the model, behind the annotations before it.

        Returns:
            A future with the action's result or its error; where the action returns a future,
            with what that gets.
        """
        future: Future[Any] = Future()
        with self._condition:
            self._queue.append(_PendingChange(action, future))
            self._condition.notify()
        return future

    def close(self, timeout: float | None = None) -> bool:
        """Finish what is queued and stop; changes of the model are not begun any more.

        Args:
            timeout: seconds to wait; None: for ever.

        Returns:
            Whether it has stopped; else it is left behind, and ends with the process.
        """
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

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
                self._change([item for item in items if isinstance(item, _PendingChange)])

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
            _resolve(pending.future, result)

    def _change(self, changes: Iterable[_PendingChange]) -> None:
        for change in changes:
            try:
                self._model.check()
                result = change.action()
            except (ProEMLCError, OSError) as error:
                result = error
            except Exception as error:  # A fault of ours; the thread must live on.
                self._on_error(f'a change of the model failed: {error!r}')
                result = error
            _resolve(change.future, result)


def _resolve(future: Future[Any] | None, result: Any) -> None:
    """Give a result or error to whoever waits; that of another future when it has one."""
    if isinstance(result, Future):
        result.add_done_callback(lambda done: _resolve(future, done.exception() or done.result()))
    elif future is not None and isinstance(result, BaseException):
        future.set_exception(result)
    elif future is not None:
        future.set_result(result)


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

    def close(self, timeout: float | None = None) -> bool:
        """Write what no snapshot holds yet and stop; see `LearningThread.close`."""
        self._stopping = True
        self._due.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            self._due.wait()
            self._due.clear()
            stopping = self._stopping
            if not stopping or self._model.unsaved or self._model.snapshots.time is None:
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


class WorkThread:
    """Does long work that is not learning, one piece after the other, beside everything else.

    Args:
        name: of the thread.

    Attributes:
        progress: what is done now and how far it is, for people; empty: nothing.
    """

    def __init__(self, name: str) -> None:
        self.progress = ''
        self._queue: SimpleQueue[_PendingChange | None] = SimpleQueue()
        self._cancelled = False
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, action: Callable[[], Any]) -> Future[Any]:
        """Queue work; return a future with its result or error, see `LearningThread.call`."""
        future: Future[Any] = Future()
        self._queue.put(_PendingChange(action, future))
        return future

    def report(self, text: str) -> None:
        """Say how far the work is; to be called by it now and then.

        Raises:
            WorkCancelledError: it is to end.
        """
        if self._cancelled or self._stopped:
            raise WorkCancelledError('the node is shut down' if self._stopped
                                     else 'it was cancelled; nothing changed')
        self.progress = text

    def cancel(self) -> str:
        """End the work that runs; return what it was."""
        text, self._cancelled = self.progress, bool(self.progress)
        return text

    def close(self, timeout: float | None = None) -> bool:
        """End the work that runs and stop; see `LearningThread.close`."""
        self._stopped = True
        self._queue.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            self._cancelled = False
            try:
                self.report('')
                result = work.action()
            except Exception as error:  # Whoever waits must be answered.
                result = error
            self.progress = ''
            _resolve(work.future, result)


# ----- requests -----


# Requests whose answers are remembered, the most recent ones; some 0.5 kB each.
REMEMBERED = 10_000


class RequestTable:
    """The requests that wait to be learnt, and the most recent ones that were.

    A rejected request is forgotten: it has changed nothing, and is tried again when it comes
    again.

    Args:
        most: learnt requests that are remembered.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._learnt: dict[str, ClientRequest] = {}
        self._pending: dict[str, tuple[ClientRequest, Future[ClientRequest]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._learnt)

    def restore(self, references: Iterable[tuple[int, str]], except_for: Collection[int]) -> None:
        """Remember the requests of an earlier run.

        Args:
            references: number and reference of journal entries, oldest first.
            except_for: numbers of entries that were not learnt.
        """
        for number, reference in references:
            request = ClientRequest.from_reference(reference)
            if request is not None and number not in except_for:
                self._remember(request._replace(number=number))

    def claim(self, request: ClientRequest) -> Future[ClientRequest] | None:
        """Begin a request, or return the answer to the same one before.

        Returns:
            A future with the first answer; None where the request is new and `settle` must
            follow.

        Raises:
            TextRejectedError: another annotation had the same id.
        """
        with self._lock:
            answer: Future[ClientRequest] = Future()
            if request.id in self._pending:
                earlier, answer = self._pending[request.id]
            elif request.id in self._learnt:
                earlier = self._learnt[request.id]
                answer.set_result(earlier)
            else:
                self._pending[request.id] = request, answer
                return None
        if earlier.content != request.content:
            raise TextRejectedError(
                'request_id_reused', f'request_id {shown(request.id)} came before with another '
                'annotation; give each annotation an id of its own')
        return answer

    def settle(self, request: ClientRequest, learnt: Future[Learnt]) -> None:
        """End a request that was begun; whoever repeated it gets the same answer."""
        error = learnt.exception()
        done = None if error is not None else learnt.result()
        answered = (None if done is None or done.annotation.request is None
                    else done.annotation.request._replace(number=done.number))
        with self._lock:
            _, answer = self._pending.pop(request.id)
            if answered is not None:
                self._remember(answered)
        if answered is not None:
            answer.set_result(answered)
        else:
            answer.set_exception(error)

    def _remember(self, request: ClientRequest) -> None:
        self._learnt[request.id] = request
        if len(self._learnt) > self._most:
            del self._learnt[next(iter(self._learnt))]
