# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewal of the running model from the journal, in the background; see docs/node.md.

Choosing and fitting is done in another process (renewal_task.py). The renewed model then follows
what came meanwhile, as every model follows the sample table, and replaces the running one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.threads import LearningThread
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    OutdatedRenewalError,
    ProEMLCError,
    RenewalError,
    UnlearnError,
    WorkCancelledError,
)
from proemlc_ros.journal.journal import names_content
from proemlc_ros.journal.table import BEGINNINGS
from proemlc_ros.records import Event, EventKind, ModelChange

if TYPE_CHECKING:  # They bring model selection, and a node starts sooner without.
    import subprocess

    from proemlc_ros.classifier.renewal_task import RenewalResult, RenewalTask

MODES = ('automatic', 'manual', 'off')
# What the process of a renewal runs.
PROGRAM = 'proemlc_ros.classifier.renewal_task'
# Growth of the number of samples behind which novel samples call for a renewal, and one that was
# given up is tried again.
_SMALL_GROWTH = 1.25
# Recent annotations, and the novelty that most of them must have had.
_RECENT, _NOVEL = 20, 0.8
# Samples of labels without neurons that call for a renewal.
_OF_NEW_LABELS = 5
# Share of all samples that outgrown labels must have got since, and growth of all samples.
_OUTGROWN = 0.1
# Attempts when the model is changed meanwhile in ways that the renewed one cannot follow.
_ATTEMPTS = 3
_LIBRARIES = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


class LabelGrowth(NamedTuple):
    """Samples of labels that came when the hidden layer was full.

    Args:
        unknown: of labels that it has no neurons for.
        outgrown: taught since, of labels whose samples have more than doubled since.
    """

    unknown: int = 0
    outgrown: int = 0


_NO_GROWTH = LabelGrowth()


@dataclass
class RenewalPolicy:
    """Decides when to renew.

    A renewal is due when the samples have grown so much that they may call for other settings,
    and earlier when new samples stay novel, or labels were taught to a layer that was full: the
    hidden layer does not know them, or has few neurons for them.

    Args:
        mode: 'automatic', 'manual' (when asked to) or 'off'.
        first: samples at the first renewal.
        growth: of the number of samples from one renewal to the next.
    """

    mode: str = 'automatic'
    first: int = 30
    growth: float = 2.0

    def __post_init__(self) -> None:
        """Begin without any renewal."""
        self.last = 0

    def next_at(self) -> int:
        """Return the number of samples at which the next renewal is due."""
        return max(self.first, round(self.growth * self.last))

    def postpone(self) -> None:
        """Take note that the last renewal was given up: a small growth calls for the next."""
        self.last = round(self.last * _SMALL_GROWTH / self.growth)

    def is_due(self, samples: int, novelties: Sequence[float] = (), labels: int = 2,
               growth: LabelGrowth = _NO_GROWTH) -> bool:
        """Tell whether to renew a model now.

        Args:
            samples: that it has learnt.
            novelties: of the last annotated samples, before they were learnt.
            labels: that it knows; of one alone no layer can be told from another.
            growth: of labels since its hidden layer was full.
        """
        self.last = min(self.last, samples)  # It may have been reset.
        if self.mode != 'automatic' or samples < self.first or labels < 2:
            return False
        if (samples >= self.next_at()
                or _has_new_labels(growth) and samples >= self.last + _OF_NEW_LABELS
                or _is_outgrown(growth, samples) and samples >= self.last * (1.0 + _OUTGROWN)):
            return True
        return (samples >= _SMALL_GROWTH * self.last and len(novelties) >= _RECENT
                and float(np.median(novelties)) >= _NOVEL)


def is_for_labels(growth: LabelGrowth, samples: int) -> bool:
    """Tell whether labels have so many of the samples without neurons that these are needed."""
    return _has_new_labels(growth) or _is_outgrown(growth, samples)


def _has_new_labels(growth: LabelGrowth) -> bool:
    return growth.unknown >= _OF_NEW_LABELS


def _is_outgrown(growth: LabelGrowth, samples: int) -> bool:
    return growth.outgrown >= _OUTGROWN * samples


class LayerLabels:
    """Compares the labels of a model with those that its hidden layer was made of.

    Args:
        durable: the running model.
    """

    def __init__(self, durable: DurableModel) -> None:
        self._durable = durable
        self._layer: object = None
        self._counts: Counter[str] = Counter()

    def growth(self) -> LabelGrowth:
        """Return how far labels have grown beyond the hidden layer."""
        learner = self._durable.model.learner
        if learner.warming_up or not learner.options.radial:
            return _NO_GROWTH
        if learner.layer is not self._layer:
            self._layer, self._counts = learner.layer, self._counts_of_layer(learner)
        unknown = outgrown = 0
        for name, count in zip(learner.labels, learner.counts, strict=True):
            before = self._counts[name]
            if not before:
                unknown += count
            elif count > 2 * before:
                outgrown += count - before
        return LabelGrowth(unknown, outgrown)

    def _counts_of_layer(self, learner: ProEMLC) -> Counter[str]:
        """Return the labels of the samples that were known when the hidden layer was made."""
        table = self._durable.reading()
        if table.base is not None or table.forgotten:
            # Not all of its samples are known any more.
            return Counter(dict(zip(learner.labels, learner.counts, strict=True)))
        made_of = ([sample for number, sample in table.samples.items()
                    if number < table.state.layer] if not learner.layer_samples
                   else list(table.samples.values())[:learner.layer_samples])
        return Counter(name for sample in made_of for name in sample.labels)


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
        labels: of the hidden layer, and how far they have grown since.
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
        self.process = _RenewalProcess()
        # Who waits for each renewal that is wanted; None: nobody does.
        self._wanted: SimpleQueue[Future[ModelChange] | None] = SimpleQueue()
        self._stopping = False
        self.labels = LayerLabels(durable)
        self._thread = threading.Thread(target=self._run, name='renewal', daemon=True)
        self._thread.start()

    def consider(self) -> None:
        """Begin a renewal if one is due; call it regularly."""
        model, learner = self._durable.model, self._durable.model.learner
        if (not self.running and self.policy.is_due(
                learner.samples, [*model.novelties], len(learner.labels), self.labels.growth())
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

    def cancel(self) -> bool:
        """End the renewal that runs; return whether there was one."""
        return self.running and self.process.cancel()

    def close(self, timeout: float | None = None) -> bool:
        """Stop; a renewal that runs is given up; see `LearningThread.close`."""
        self._stopping = True
        self._wanted.put(None)
        self.process.stop()
        self._thread.join(timeout)
        return not self._thread.is_alive()

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
            except WorkCancelledError as error:
                self.text = 'cancelled'
                for future in waiting:
                    future.set_exception(error)
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
        if not waiting and change.events:
            self.on_change(change)
        for place, future in enumerate(waiting):
            # Published once, however many have asked.
            future.set_result(ModelChange(change.message, () if place else change.events))

    def _fail(self, waiting: list[Future[ModelChange]], error: Exception) -> None:
        if self._stopping or self._durable.stopping.is_set():
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
        return ModelChange(f'renewed with {result.settings}: {_compared(result)}', [event])

    def _task(self, running: Path, output: Path) -> RenewalTask:
        # Here, since it brings model selection, and a node starts sooner without it.
        from proemlc_ros.classifier.renewal_task import RenewalTask

        durable = self._durable
        with durable.lock:
            if not durable.model.learner.samples:
                raise OutdatedRenewalError('overtaken by a reset')
            learner, position = durable.model.learner.copy(), durable.position
            rejected, extractor = tuple(durable.rejected), durable.model.extractor
        self.policy.last = learner.samples
        learner.save(running, {})
        return RenewalTask(str(durable.directory.journal), str(running), str(output), position,
                           rejected, self.most, extractor=extractor,
                           for_labels=is_for_labels(self.labels.growth(), learner.samples))

    def _file(self, name: str) -> Path:
        """Return the path of a file that the next start deletes, should it be left behind."""
        return self._durable.directory.path / f'.renewal_{name}_{os.getpid()}.tmp'

    def _obstacle(self) -> str | None:
        """Return why a renewal cannot begin, in words; None: it can."""
        learner = self._durable.model.learner
        if not learner.samples:
            return 'nothing has been learnt yet'
        if not any(learner.counts):
            return 'no sample shows a label yet'
        table = self._durable.reading()
        if table.base is not None and isinstance(table.base.record, Event):
            return (f'the model began with {table.base.record.file_name}, whose samples are not '
                    'in this journal; a renewal needs all samples of the model')
        if table.forgotten:
            return 'the journal has dropped samples of the model, which a renewal needs'
        return self._durable.journal.problem or None


class RenewedModel:
    """A renewed model on its way to become the running one.

    Made outside the learning thread: what takes long is done while annotations are learnt.

    Args:
        durable: the running model.
        path: of the file with the renewed model.
        position: number of the last entry that the renewed model has learnt.

    Raises:
        OutdatedRenewalError: changes were made meanwhile that the renewed model cannot follow.
        ProEMLCError, OSError: the file cannot be used.
    """

    def __init__(self, durable: DurableModel, path: Path, position: int) -> None:
        self.learner = ProEMLC.load(path, max_bytes=max(path.stat().st_size, 2**30))
        self._durable, self._path, self._position = durable, path, position
        self._mark()
        self._catch_up()
        self._write()

    def swap(self) -> Event:
        """Replace the running model; the file is deleted.

        The journal keeps the content of the renewed model, so that it resumes with the same.

        Raises:
            OutdatedRenewalError, ProEMLCError, OSError: the running model is as before.
        """
        durable, learner = self._durable, self.learner
        with durable.lock:
            durable.catch_up()
            if self._catch_up():
                self._write()
            learner, running = self.learner, durable.model.learner
            if (learner.labels, learner.counts, learner.samples) != (
                    running.labels, running.counts, running.samples):
                raise OutdatedRenewalError('the renewed model has not learnt the same samples')
            reference = durable.journal.attachments.add(self._path)
            event = durable.record(Event(EventKind.RENEW, durable.clock()), reference)
            durable.model.renew(learner)
        self._path.unlink(missing_ok=True)
        return event

    def _catch_up(self) -> bool:
        """Follow what came meanwhile; return whether anything did."""
        table, position = self._durable.reading(), self._position
        if table.last <= position:
            return False
        before = table.at(position)
        try:
            self.learner = self._durable.follower(table).followed(
                self.learner, before, table.since(position, before))
        except UnlearnError as error:
            raise OutdatedRenewalError(f'overtaken by changes after entry {position}: {error}'
                                       ) from error
        self._position = table.last
        self._mark()
        return True

    def _mark(self) -> None:
        self.learner.extra = {'extractor': self._durable.model.extractor,
                              'renewed_at': self.learner.samples}

    def _write(self) -> None:
        """Write the file again, as the journal is to keep it."""
        self.learner.save(self._path, key=self._durable.directory.key)


def drop_superseded(durable: DurableModel) -> None:
    """Delete the content of renewed models that no resume needs any more.

    Needed are those that a snapshot does not hold yet, and the last one of each beginning: a
    correction may learn all samples again with its layer.
    """
    events = [entry for entry in durable.journal.events() if isinstance(entry.record, Event)]
    needed: list[str] = []
    renewal = ''
    for entry in events:
        kind = entry.record.kind if isinstance(entry.record, Event) else None
        if kind in BEGINNINGS:
            needed.append(renewal)
        if kind is EventKind.RENEW:
            renewal = entry.reference
        if kind is EventKind.LOAD or entry.number > durable.snapshots.oldest_position:
            needed.append(entry.reference)
    durable.journal.attachments.keep_only(filter(names_content, [*needed, renewal]))


def _compared(result: RenewalResult) -> str:
    before = 'none' if result.running_f1 is None else f'{result.running_f1:.3f}'
    drawn = (f', chosen from {result.drawn} drawn at random' if result.drawn < result.samples
             else '')
    return (f'F1 left out {result.f1:.3f}, before {before}, {result.samples} samples{drawn}, '
            f'{result.seconds:.1f} s')


class _RenewalProcess:
    """Runs one task at a time in a process of its own, at low priority and with one thread.

    The process ends with this one: it watches its standard input.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = self._cancelled = False
        self._lock = threading.Lock()

    def run(self, task: RenewalTask) -> RenewalResult:
        """Run a task and wait for its result.

        Raises:
            RenewalError: it failed, or was stopped.
        """
        with self._lock:
            if self._stopped:
                raise RenewalError('the node is shut down')
            self._cancelled = False
            self._process = process = _start()
        # Only the line, not the end of the input: that would end the process.
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(task.to_json() + '\n')
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        finally:
            self._end(process)
        if answer.startswith('{'):
            from proemlc_ros.classifier.renewal_task import RenewalResult

            return RenewalResult.from_json(answer)
        if self._cancelled:
            raise WorkCancelledError('it was cancelled; the running model stays')
        raise RenewalError(
            answer.strip() or 'renewal process exited unexpectedly (out of memory?)')

    def cancel(self) -> bool:
        """End the task that runs; return whether there was one."""
        with self._lock:
            if self._process is None:
                return False
            self._cancelled = True
            self._process.kill()
            return True

    def stop(self) -> None:
        """End the process; nothing is renewed any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _end(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        with self._lock:
            self._process = None
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                continue  # What was not read any more.


def _start() -> subprocess.Popen[str]:
    import subprocess  # Here, since a node starts sooner without it.

    environment = {**os.environ, **dict.fromkeys(_LIBRARIES, '1'),
                   'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}
    try:
        return subprocess.Popen(
            [sys.executable, '-m', PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment)
    except OSError as error:
        raise RenewalError(f'cannot start a process: {error}') from error
