# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewals in the background of a running classifier."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from proemlc_ros.classifier.renewal.policy import RenewalPolicy
from proemlc_ros.classifier.renewal.process import RenewalProcess
from proemlc_ros.classifier.renewal.swap import RenewedModel, drop_superseded
from proemlc_ros.errors import OutdatedRenewalError, ProEMLCError, RenewalError
from proemlc_ros.records import Event, ModelChange

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel
    from proemlc_ros.classifier.renewal.task import RenewalResult, RenewalTask
    from proemlc_ros.classifier.threads import LearningThread

# Attempts when the model is changed meanwhile in ways that the renewed one cannot follow.
_ATTEMPTS = 3


class Renewals:
    """Renews a model when it is due or asked for, one renewal at a time.

    Choosing and fitting is done in another process; reading its result, in a thread of
    its own; the swap, in the learning thread, so that annotations before and behind it are
    learnt in their order.

    Args:
        durable: the running model.
        learning: the learning thread.
        on_error: called with failures, in words.

    Attributes:
        policy: decides when.
        most: hidden neurons at most.
        on_change: called with each renewal that was not asked for by a client.
        on_overtaken: called where one was given up for changes that came meanwhile, in words.
        text: what came of the last one, for people.
        process: in which the work is done.
    """

    def __init__(self, durable: DurableModel, learning: LearningThread,
                 on_error: Callable[[str], None]) -> None:
        self.policy = RenewalPolicy(mode='manual')
        self.most = 1000
        self.on_change: Callable[[ModelChange], None] = lambda change: None
        self.on_overtaken: Callable[[str], None] = lambda text: None
        self.text = 'none yet'
        self.running = False
        self.policy.last = durable.model.renewed_at
        self._durable, self._learning, self._on_error = durable, learning, on_error
        self.process = RenewalProcess()
        # Who waits for each renewal that is wanted; None: nobody does.
        self._wanted: SimpleQueue[Future[ModelChange] | None] = SimpleQueue()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='renewal', daemon=True)
        self._thread.start()

    def consider(self) -> None:
        """Begin a renewal if one is due; call it regularly."""
        model, learner = self._durable.model, self._durable.model.learner
        if (not self.running and self.policy.is_due(
                learner.samples, [*model.novelties], len(learner.labels))
                and self._obstacle() is None):
            self._wanted.put(None)

    def request(self) -> Future[ModelChange]:
        """Begin a renewal, or join one that has not begun yet.

        Returns:
            A future: what came of it, or a ProEMLCError.
        """
        future: Future[ModelChange] = Future()
        reason = ('renewal is off; set the parameter renewal to automatic or manual'
                  if self.policy.mode == 'off' else self._obstacle())
        if reason is not None:
            future.set_exception(RenewalError(reason))
            return future
        self._wanted.put(future)
        return future

    def close(self) -> None:
        """Stop; a renewal that runs is given up, and the running model stays."""
        self._stopping = True
        self._wanted.put(None)
        self.process.stop()
        self._thread.join()

    # ----- the thread -----

    def _run(self) -> None:
        while True:
            waiting = self._take()
            if self._stopping:
                break
            self.running = True
            try:
                change = self._renew()
            except OutdatedRenewalError as error:
                self._give_up(waiting, error)
            except (ProEMLCError, OSError) as error:
                self._fail(waiting, error)
            except Exception as error:  # A fault of ours; the thread must live on.
                self._fail(waiting, RenewalError(f'internal error: {error!r}'))
            else:
                self._succeed(waiting, change)
            finally:
                self.running = False
        self._fail(waiting, RenewalError('the node is shut down'))

    def _take(self) -> list[Future[ModelChange]]:
        """Wait until a renewal is wanted; return all who wait for it."""
        wanted = [self._wanted.get()]
        with suppress(Empty):
            while True:
                wanted.append(self._wanted.get_nowait())
        return [future for future in wanted if future is not None]

    def _succeed(self, waiting: list[Future[ModelChange]], change: ModelChange) -> None:
        self.text = change.message
        if not waiting and change.event is not None:
            self.on_change(change)
        for place, future in enumerate(waiting):
            # Published once, however many have asked.
            future.set_result(ModelChange(change.message, None if place else change.event))

    def _fail(self, waiting: list[Future[ModelChange]], error: Exception) -> None:
        if self._stopping:
            error = RenewalError('the node is shut down')
        else:
            self.text = f'failed: {error}'
            self._on_error(f'renewal failed: {error}; the running model stays')
        for future in waiting:
            future.set_exception(error)

    def _give_up(self, waiting: list[Future[ModelChange]], error: OutdatedRenewalError) -> None:
        """Let the changes stand that a renewal could not follow, as often as it was tried."""
        self.policy.postpone()
        following = (f'the next one is due at {self.policy.next_at()} samples'
                     if self.policy.mode == 'automatic' else 'call ~/renew to try again')
        self.text = f'given up, {error}'
        self.on_overtaken(f'Renewal given up, {error}; the running model stays, and {following}.')
        for future in waiting:
            future.set_exception(RenewalError(f'given up, {error}; call ~/renew to try again'))

    def _renew(self) -> ModelChange:
        for attempt in range(_ATTEMPTS):
            try:
                return self._attempt()
            except OutdatedRenewalError:
                if attempt + 1 == _ATTEMPTS:
                    raise
        raise AssertionError('unreachable')

    def _attempt(self) -> ModelChange:
        """Renew once; both files are gone afterwards."""
        running, output = (self._file(name) for name in ('running', 'renewed'))
        try:
            task = self._task(running, output)
            result = self.process.run(task)
            if not result.better:
                return ModelChange(f'kept the running model: {_compared(result)}')
            renewed = RenewedModel(self._durable, output, task.position)
            event: Event = self._learning.call(renewed.swap).result()
        finally:
            for path in (running, output):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        self._durable.try_snapshot()
        drop_superseded(self._durable)
        return ModelChange(f'renewed with {result.settings}: {_compared(result)}', event)

    def _task(self, running: Path, output: Path) -> RenewalTask:
        # Here, since it brings model selection, and a node starts sooner without it.
        from proemlc_ros.classifier.renewal.task import RenewalTask

        durable = self._durable
        with durable.lock:
            learner, position = durable.model.learner.copy(), durable.position
            not_learnt = tuple(durable.not_learnt)
        self.policy.last = learner.samples
        learner.save(running, {})
        return RenewalTask(str(durable.directory.journal), str(running), str(output), position,
                           not_learnt, self.most)

    def _file(self, name: str) -> Path:
        """Return the path of a file that the next start deletes, should it be left behind."""
        return self._durable.directory.path / f'.renewal_{name}_{os.getpid()}.tmp'

    def _obstacle(self) -> str | None:
        """Return why a renewal cannot begin, in words; None: it can."""
        learner = self._durable.model.learner
        if learner.options.forgetting < 1.0:
            return 'a model that forgets is not renewed: its samples do not count alike'
        if not learner.samples:
            return 'nothing has been learnt yet'
        return self._durable.journal.problem or None


def _compared(result: RenewalResult) -> str:
    before = 'none' if result.running_f1 is None else f'{result.running_f1:.3f}'
    drawn = (f', chosen from {result.drawn} drawn at random' if result.drawn < result.samples
             else '')
    return (f'F1 left out {result.f1:.3f}, before {before}, {result.samples} samples{drawn}, '
            f'{result.seconds:.1f} s')
