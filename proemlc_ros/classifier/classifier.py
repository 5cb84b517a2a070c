# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the classifier node does, without ROS: classify, match, learn, undo, query, count."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.matching import MatchingRules, PendingAnnotation, StampMatcher
from proemlc_ros.classifier.plans import Plan
from proemlc_ros.classifier.queries import QueryPolicy
from proemlc_ros.classifier.renewals import Renewals
from proemlc_ros.classifier.threads import (
    REMEMBERED,
    LearningThread,
    RequestTable,
    SnapshotThread,
    WorkThread,
)
from proemlc_ros.classifier.validation import (
    LONGEST_EXTRACTOR,
    LONGEST_REQUEST_ID,
    LONGEST_TOPIC,
    RateLimit,
    validate_region,
    validate_sizes,
    validate_text,
    validate_vector,
)
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.errors import JournalError, ProEMLCError, cause_of
from proemlc_ros.foreign_text import shown, shown_names
from proemlc_ros.records import (
    REQUEST_PREFIX,
    Annotation,
    ClientRequest,
    Event,
    EventKind,
    Learnt,
    ModelChange,
    Query,
    StampedVector,
)
from proemlc_ros.regions import WHOLE

# Seconds between looks at a disk that failed.
_RETRY_PERIOD = 5.0
# Samples that a change concerns at most which is made in the learning thread at once.
_FEW = 32
# Seconds that closing may take.
_CLOSE_TIMEOUT = 4.0


class Classifier:
    """A durable model with everything around it: rate limits, matching, queries, statistics.

    Vectors and annotations are handed in by any thread. Learning and writing snapshots happen in
    threads of their own; whoever waits for them gets a future, whose callbacks run in the learning
    thread.

    Args:
        durable: the durable model; it owns width, extractor and limits.
        rules: how annotations find their feature vectors.
        capacity: annotations that may wait to be written.
        on_error: called with failures in the background, in words.
    """

    def __init__(self, durable: DurableModel, rules: MatchingRules | None = None,
                 capacity: int = 100, on_error: Callable[[str], None] = print) -> None:
        self.durable = durable
        self.matcher = StampMatcher(rules)
        self.queries = QueryPolicy()
        self.statistics = Statistics()
        self.feature_rate = RateLimit(0.0, 'feature vectors')
        self.annotation_rate = RateLimit(0.0, 'annotations')
        self.learning = LearningThread(durable, capacity, on_error)
        self.snapshots = SnapshotThread(durable, on_error)
        self.renewals = Renewals(durable, self.learning, on_error)
        self.work = WorkThread('work')
        self._on_error = on_error
        self._matching = threading.Lock()
        self.requests = RequestTable()
        self._restore_requests(on_error)
        self._next_retry = 0.0

    # ----- feature vectors -----

    def classify(self, vector: StampedVector) -> VersionedPrediction:
        """Return what the model says about a vector of the stream.

        Raises:
            ProEMLCError: the vector is rejected, or one too many.
        """
        self.statistics.features.total += 1
        if self.feature_rate.rate:
            self.feature_rate.check(time.monotonic_ns())
        return self.predict(vector)

    def predict(self, vector: StampedVector) -> VersionedPrediction:
        """Return what the model says about a vector that is not part of the stream.

        Raises:
            ProEMLCError: the vector is rejected.
        """
        durable, model = self.durable, self.durable.model
        width = model.learner.width
        newest = self.matcher.buffer.newest
        if width is None and newest is not None:
            width = newest.data.size  # Until something is learnt, the first vector decides.
        if vector.extractor != model.extractor:  # An older model's own may be long.
            validate_text(vector.extractor, 'extractor', LONGEST_EXTRACTOR)
        if vector.source_topic and (newest is None
                                    or vector.source_topic != newest.source_topic):
            validate_text(vector.source_topic, 'source_topic', LONGEST_TOPIC)
        if vector.region != WHOLE:
            validate_region(vector.region)
        validate_vector(vector.data, vector.extractor, width, model.extractor, durable.limits)
        return model.classify(vector.data)

    def keep(self, vector: StampedVector) -> None:
        """Keep a classified vector, and learn the annotations that waited for it."""
        with self._matching:
            settled = self.matcher.add(vector, time.monotonic_ns())
        self._learn_settled(settled)

    def query(self, vector: StampedVector, prediction: VersionedPrediction) -> Query | None:
        """Return a query to the operator where this vector is worth one."""
        learner = self.durable.model.learner
        if (not self.queries.rules.rate or not learner.samples
                or learner.width != len(vector.data)):  # Untaught, or replaced meanwhile.
            return None
        query = self.queries.query(vector, prediction, time.monotonic_ns(), learner.scaling)
        if query is not None:
            self.statistics.queries += 1
        return query

    # ----- what changes the model -----

    def annotate_once(self, annotation: Annotation,
                      request_id: str) -> Future[Learnt] | Future[ClientRequest]:
        """Take an annotation that may come again with the same id; see RequestTable.

        Returns:
            As `annotate`; where it came before, a future with the first answer.
        """
        try:
            validate_text(request_id, 'request_id', LONGEST_REQUEST_ID)
            request = ClientRequest.of(request_id, annotation)
            answer = self.requests.claim(request)
        except ProEMLCError as error:
            self.statistics.annotations.count()
            return self._rejected(error)
        if answer is not None:
            self.statistics.annotations.count()
            self.statistics.repeated.count()
            return answer
        return self.annotate(annotation._replace(request=request))

    def annotate(self, annotation: Annotation, timeout: float = 0.0) -> Future[Learnt]:
        """Take an annotation.

        Args:
            annotation: with or without its features.
            timeout: seconds to wait for room where the queue is full.

        Returns:
            A future: what was learnt once it is durable, or a ProEMLCError.
        """
        now = time.monotonic_ns()
        self.statistics.annotations.count()
        future: Future[Learnt] = Future()
        future.add_done_callback(self._count)
        if annotation.request is not None:  # Before the client is answered and may repeat it.
            future.add_done_callback(partial(self.requests.settle, annotation.request))
        pending = PendingAnnotation(annotation, future)
        try:
            if self.annotation_rate.rate:
                self.annotation_rate.check(now)
            if annotation.extractor != self.durable.model.extractor:
                validate_text(annotation.extractor, 'extractor', LONGEST_EXTRACTOR)
            validate_sizes(annotation, lambda: self.durable.model.learner.labels,
                           self.durable.limits)
        except ProEMLCError as error:
            future.set_exception(error)
            return future
        with self._matching:
            settled = self.matcher.submit(pending, now)
        if settled:
            self.learning.put(pending, timeout)
        return future

    # ----- other changes of the model, each behind what was asked before -----

    def undo(self) -> Future[ModelChange]:
        """Unlearn the last annotation."""
        def act() -> ModelChange:
            annotation = self.durable.undo()
            labels = shown_names(annotation.labels) or 'an annotation without labels'
            return ModelChange(f'undid {labels}', self._events(EventKind.UNDO))
        return self.learning.call(act)

    def rename(self, label: str, new_label: str, annotator: str = '') -> Future[ModelChange]:
        """Give a label another name."""
        return self.change(
            self.durable.plans.change_label(EventKind.RENAME, label, new_label, annotator),
            lambda events: f'{shown(label)} is now {shown(events[0].new_label)}')

    def remove(self, label: str, annotator: str = '') -> Future[ModelChange]:
        """Forget a label."""
        return self.change(
            self.durable.plans.change_label(EventKind.REMOVE, label, annotator=annotator),
            lambda events: f'removed {shown(label)}')

    def change(self, plan: Plan, text: Callable[[list[Event]], str]) -> Future[ModelChange]:
        """Make a change in the learning thread; a large one is worked out beside it first.

        Args:
            plan: of the change.
            text: returns what was done, for people; called in the learning thread.
        """
        durable, work = self.durable, self.work

        def made(events: list[Event]) -> ModelChange:
            return ModelChange(text(events), events)

        def attempt() -> ModelChange | Future[ModelChange]:
            with durable.lock:
                size = sum(map(durable.table.concerned, plan(durable.table)))
                if size <= _FEW:
                    return made(durable.make(plan))
            return work.call(partial(prepare, f'changing {size} samples'))

        def prepare(progress: str) -> Future[ModelChange]:
            work.report(progress)
            done = count(1)
            finish = durable.aside(plan, lambda: work.report(f'{progress}: {next(done)} done'))
            return self.learning.call(lambda: made(finish()))
        return self.learning.call(attempt)

    def reset(self) -> Future[ModelChange]:
        """Forget everything."""
        def act() -> ModelChange:
            kept = self.durable.reset()
            self.model_replaced()
            undo = f'; load {kept.name} to get it back' if kept is not None else ''
            return ModelChange(f'forgot everything{undo}', self._events(EventKind.RESET))
        return self.learning.call(act)

    def load(self, file_name: str, annotator: str = '') -> Future[ModelChange]:
        """Replace the model by one of the model directory."""
        def act() -> ModelChange:
            path = self.durable.load(file_name, annotator)
            self.model_replaced()
            learner = self.durable.model.learner
            return ModelChange(
                f'loaded {path.name}: {len(learner.labels)} labels, {learner.samples} samples',
                self._events(EventKind.LOAD, path.name))
        return self.learning.call(act)

    def save(self, file_name: str, keep_existing: bool = False) -> Future[ModelChange]:
        """Write the model to a file of the model directory; keep_existing: only a new one."""
        def act() -> ModelChange:
            path: Path = self.durable.save(file_name, keep_existing)
            # The name first: a terminal may have no room for the folder.
            return ModelChange(f'wrote {path.name} to {path.parent}')
        return self.learning.call(act)

    def _events(self, kind: EventKind, file_name: str = '') -> list[Event]:
        """Return what the last entry of the journal says; to be called in the learning thread."""
        return [Event(kind, file_name=file_name, entry=self.durable.position)]

    def model_replaced(self) -> None:
        """Forget all buffered vectors: they may not fit the model any more."""
        self.clear_buffer('model_replaced', 'the model was replaced')

    # ----- work that takes seconds -----

    @property
    def progress(self) -> str:
        """What is done beside learning, and how far it is, for people; empty: nothing."""
        return self.work.progress or (
            f'renewing the model of {self.durable.model.learner.samples} samples'
            if self.renewals.running else '')

    def cancel(self) -> str:
        """End the work that runs; return what it was."""
        text = self.progress
        return text if self.work.cancel() or self.renewals.cancel() else ''

    # ----- by the clock -----

    def run_periodic_work(self) -> None:
        """Settle annotations whose time is up, and snapshot when it is due; call it regularly."""
        with self._matching:
            settled = self.matcher.expire(time.monotonic_ns())
        self._learn_settled(settled)
        self.snapshots.consider()
        self.renewals.consider()
        self._retry_journal()

    def _retry_journal(self) -> None:
        """Look now and then whether a disk that failed can be written again."""
        if self.durable.journal.problem and time.monotonic() >= self._next_retry:
            self._next_retry = time.monotonic() + _RETRY_PERIOD
            self.learning.call(self.durable.journal.retry)

    def clear_buffer(self, cause: str, event: str) -> None:
        """Forget all buffered vectors and reject the annotations that wait for one.

        Args:
            cause: short key to count the rejections by.
            event: what happened, in words.
        """
        with self._matching:
            rejected = self.matcher.clear(cause, event)
        self._learn_settled(rejected)

    def clock_jumped(self) -> None:
        """Forget all buffered vectors: their stamps and those to come do not compare."""
        self.statistics.clock_jumps += 1
        self.clear_buffer('clock_jump', 'the time jumped')

    @property
    def jumps(self) -> int:
        """How often the clock or the stamps of the vectors jumped and cleared the buffer."""
        return self.statistics.clock_jumps + self.matcher.buffer.jumps

    def close(self) -> None:
        """Learn what waits, write a snapshot, close the journal, free the folder.

        It takes a few seconds at most: long work is given up, and what still waits for the disk
        then is left behind. Everything acknowledged is in the journal.
        """
        deadline = time.monotonic() + _CLOSE_TIMEOUT
        self.durable.stopping.set()
        self.clear_buffer('shutdown', 'the node was shut down')
        ended = [thread.close(max(0.1, deadline - time.monotonic()))
                 for thread in (self.work, self.renewals, self.learning, self.snapshots)]
        if not all(ended):
            self._on_error('the disk does not answer in time; the journal has everything that was '
                           'acknowledged')
            return  # The end of the process frees the folder: something may still be written.
        try:
            self.durable.journal.close()
        finally:
            self.durable.directory.close()

    # ----- inside -----

    def _restore_requests(self, on_error: Callable[[str], None]) -> None:
        try:
            self.requests.restore(self.durable.journal.references(REQUEST_PREFIX, REMEMBERED),
                                  self.durable.rejected)
        except JournalError as error:
            on_error(f'earlier requests are not remembered: {error}')

    def _rejected(self, error: ProEMLCError) -> Future[Learnt]:
        future: Future[Learnt] = Future()
        future.add_done_callback(self._count)
        future.set_exception(error)
        return future

    def _learn_settled(self, settled: Iterable[PendingAnnotation]) -> None:
        for pending in settled:
            self.learning.put(pending)

    def _count(self, future: Future[Learnt]) -> None:
        error = future.exception()
        if error is not None:
            self.statistics.reject(cause_of(error))
            return
        self.queries.learnt(future.result().annotation)
        self.snapshots.consider()


# ----- statistics -----


class RateMeter:
    """Events per second, between two readings."""

    def __init__(self) -> None:
        self.total = 0
        self._read_total = 0
        self._read_time: int | None = None
        self._lock = threading.Lock()

    def count(self) -> None:
        """Count one event; from any thread."""
        with self._lock:
            self.total += 1

    def read(self, now: int) -> float:
        """Return the events per second since the last reading.

        Args:
            now: nanoseconds on a clock that does not stop.
        """
        elapsed = 0 if self._read_time is None else now - self._read_time
        events = self.total - self._read_total
        self._read_time, self._read_total = now, self.total
        return events * 1e9 / elapsed if elapsed > 0 else 0.0


class LatencyWindow:
    """Percentiles of the most recent durations.

    Args:
        size: durations kept.
    """

    def __init__(self, size: int = 1000) -> None:
        self._durations: deque[int] = deque(maxlen=size)

    def add(self, nanoseconds: int) -> None:
        """Keep a duration."""
        self._durations.append(nanoseconds)

    def percentiles(self, which: Iterable[float] = (50, 95)) -> list[float]:
        """Return percentiles in milliseconds; NaN without any duration."""
        which = list(which)
        if not self._durations:
            return [float('nan')] * len(which)
        percentiles = np.percentile(list(self._durations), which) * 1e-6
        return [float(value) for value in percentiles]


class Statistics:
    """Everything that the diagnostics say about the messages that passed."""

    def __init__(self) -> None:
        self.features = RateMeter()
        self.predictions = RateMeter()
        self.annotations = RateMeter()
        # Requests that came again and got the first answer.
        self.repeated = RateMeter()
        self.latency = LatencyWindow()
        self._rejects: Counter[str] = Counter()
        # Told by DDS: published, but never received.
        self.lost_annotations = 0
        self.queries = 0
        self.clock_jumps = 0
        self._lock = threading.Lock()

    def count_prediction(self, nanoseconds: int) -> None:
        """Count a prediction and how long it took."""
        self.predictions.count()
        self.latency.add(nanoseconds)

    def reject(self, cause: str) -> None:
        """Count a rejected message by its cause."""
        with self._lock:
            self._rejects[cause] += 1

    def rejected(self) -> dict[str, int]:
        """Return how many messages were rejected, by cause."""
        with self._lock:
            return dict(self._rejects)


class Silence:
    """Tells for how long a counter has stood still.

    Args:
        clock: returns seconds on a steady clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0
        self._since = clock()

    def seconds(self, total: int) -> float:
        """Return the seconds since the counter grew, as far as the calls can tell."""
        now = self._clock()
        if total != self._total:
            self._total, self._since = total, now
        return now - self._since
