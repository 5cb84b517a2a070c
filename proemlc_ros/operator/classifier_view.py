# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What all operators see of the classifier: labels, predictions, queries, health, history."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from proemlc_ros.operator.progress import RECENT, LearningCurve, Truth, was_right
from proemlc_ros.operator.questions import doubtful_label
from proemlc_ros.operator.recent import RecentVectors
from proemlc_ros.operator.region_view import RegionView
from proemlc_ros.records import (
    Annotation,
    Event,
    EventKind,
    LabelState,
    Query,
    StampedPrediction,
    StampedVector,
)
from proemlc_ros.stamps import StampBuffer

# Seconds without a message after which the classifier counts as lost; its diagnostics come once
# per second.
SILENCE = 3.0
# The rate shown is a mean over this many seconds.
RATE_WINDOW = 3.0
# Predictions that may still be wanted for a picture.
MAX_PREDICTIONS = 300
MAX_KEPT = 200
# Open queries; the oldest are dropped first.
MAX_QUERIES = 50
# Annotations that were reported once and may be reported a second time.
MAX_UNPAIRED = 100

# Seconds without a message after which a stream has stopped, at least.
SHORTEST = 1.5
# The same, in usual times between two messages; slow streams are given more time.
PERIODS = 4.0
# Seconds, at most.
LONGEST = 20.0
# Weight of the newest time between two messages in the usual one.
_WEIGHT = 0.2


class Connection(Enum):
    """Whether the classifier is there; the values are words for people."""

    LIVE = 'connected'
    SILENT = 'the classifier gives no sign of life; waiting for it'
    ABSENT = 'the classifier is gone; waiting for it to come back'


class ViewPart(Enum):
    """A part of the view that may change; the values name the messages to the page."""

    PREDICTION = 'prediction'
    LABELS = 'labels'
    QUERIES = 'queries'
    CURVE = 'curve'
    ACTIVITY = 'activity'
    HEALTH = 'health'
    PICTURE = 'picture'
    PROGRESS = 'progress'
    SOURCE = 'source'


@dataclass(frozen=True, slots=True)
class Health:
    """The classifier's diagnostics: level (0 OK, 1 warning, 2 error), message, values."""

    level: int = 0
    message: str = ''
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceState:
    """What the source of the pictures shows; see SourceState.msg.

    `since` is the time at which it was reported: later pictures are of this state.
    """

    kind: str = ''
    name: str = ''
    position: int = 0
    count: int = 0
    playing: bool = True
    things: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    since: int = 0


class ChainPart(Enum):
    """A part of the chain, from the camera on; the values are words for people."""

    CAMERA = 'camera: no picture'
    FEATURES = 'features: none'
    PREDICTIONS = 'classifier: no prediction'


@dataclass(slots=True)
class _Stream:
    last: float
    period: float = 0.0


@dataclass(slots=True)
class StreamMonitor:
    """Watches the streams; all times are seconds on a steady clock.

    >>> monitor = StreamMonitor()
    >>> monitor.note(ChainPart.CAMERA, 0.0); monitor.note(ChainPart.CAMERA, 0.1)
    >>> monitor.stopped(1.0), monitor.stopped(5.0)
    ('', 'camera: no picture for 5 s')
    """

    _streams: dict[ChainPart, _Stream] = field(default_factory=dict)

    def note(self, part: ChainPart, now: float) -> None:
        """Note a message of a part."""
        stream = self._streams.get(part)
        if stream is None:
            self._streams[part] = _Stream(now)
            return
        gap = min(now - stream.last, LONGEST)
        # A pause of the stream says nothing of its usual period.
        if gap < PERIODS * max(stream.period, SHORTEST):
            stream.period += _WEIGHT * (gap - stream.period)
        stream.last = now

    def stopped(self, now: float) -> str:
        """Return the first part of the chain that has stopped, in words; empty: none has.

        A part that never sent anything is not there: features may come without a camera.
        """
        for part in ChainPart:
            stream = self._streams.get(part)
            if stream is None:
                continue
            silence = now - stream.last
            if silence > min(max(SHORTEST, PERIODS * stream.period), LONGEST):
                return f'{part.value} for {silence:.0f} s'
        return ''


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One change of the model.

    Args:
        number: counts up from 1.
        time: seconds since 1970.
        who: the operator, empty where not known.
        text: what was done, for people.
    """

    number: int
    time: float
    who: str
    text: str


class ActivityLog:
    """The last changes of the model.

    Args:
        max_count: entries kept; the oldest are dropped first.
    """

    def __init__(self, max_count: int = 50) -> None:
        self._entries: deque[ActivityEntry] = deque(maxlen=max_count)
        self._count = 0

    @property
    def entries(self) -> list[ActivityEntry]:
        """The entries, oldest first."""
        return list(self._entries)

    def restore(self, entries: Iterable[ActivityEntry]) -> None:
        """Put entries of an earlier run before those of this one, which are numbered after."""
        later = self.entries
        self._entries.clear()
        for entry in entries:
            self._entries.append(entry)
            self._count = max(self._count, entry.number)
        for entry in later:
            self.add(entry.who, entry.text)

    def add(self, who: str, text: str) -> None:
        """Add an entry."""
        self._count += 1
        self._entries.append(ActivityEntry(self._count, time.time(), who, text))


@dataclass(slots=True)
class ClassifierView:
    """The operators' view of one classifier. Not thread-safe: all calls come from one thread.

    Args:
        on_change: called with a ViewPart after each change.

    Attributes:
        picture_note: why there is no picture, in words; empty: there is one.
    """

    on_change: Callable[[ViewPart], None] = lambda part: None
    labels: LabelState = field(default_factory=LabelState)
    prediction: StampedPrediction | None = None
    predictions: OrderedDict[int, StampedPrediction] = field(default_factory=OrderedDict)
    health: Health = field(default_factory=Health)
    vectors: RecentVectors = field(default_factory=RecentVectors)
    regions: RegionView = field(default_factory=RegionView)
    queries: StampBuffer[Query] = field(default_factory=lambda: StampBuffer(MAX_QUERIES))
    curve: LearningCurve = field(default_factory=LearningCurve)
    activity: ActivityLog = field(default_factory=ActivityLog)
    progress: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))
    truth: Truth = field(default_factory=Truth)
    streams: StreamMonitor = field(default_factory=StreamMonitor)
    source: SourceState | None = None
    reachable: bool = False
    picture_note: str = ''
    _kept: OrderedDict[int, StampedPrediction] = field(default_factory=OrderedDict)
    _learnt: OrderedDict[tuple[object, ...], bool] = field(default_factory=OrderedDict)
    _actors: dict[EventKind, str] = field(default_factory=dict)
    _last_message: float = float('-inf')
    _arrivals: deque[float] = field(default_factory=deque)

    def connection(self, now: float) -> Connection:
        """Return whether the classifier is there; `now` in seconds on a steady clock."""
        if now - self._last_message <= SILENCE:
            return Connection.LIVE
        return Connection.SILENT if self.reachable else Connection.ABSENT

    def trouble(self, now: float) -> str:
        """Return what is wrong: the classifier, then the first part of the chain; empty: nothing.

        Once the classifier is gone, older troubles of camera or features are not the reason.
        """
        connection = self.connection(now)
        return connection.value if connection is not Connection.LIVE else (
            self.streams.stopped(now))

    def rate(self, now: float) -> float:
        """Return the predictions per second."""
        while self._arrivals and now - self._arrivals[0] > RATE_WINDOW:
            self._arrivals.popleft()
        return len(self._arrivals) / RATE_WINDOW

    def on_vector(self, vector: StampedVector, now: float | None = None) -> None:
        """Take in a feature vector; `now` where it came by the stream."""
        if now is not None:
            self.streams.note(ChainPart.FEATURES, now)
        if vector.region_count:
            self.regions.on_vector(vector)
        else:
            self.vectors.add(vector)

    def on_source(self, source: SourceState) -> None:
        """Take in what the source of the pictures reports."""
        self.source = source
        self.on_change(ViewPart.SOURCE)

    def keep(self, stamp: int) -> None:
        """Keep the prediction of a stamp, to compare it with what will be taught."""
        prediction = self.predictions.get(stamp)
        if prediction is not None:
            self._kept[stamp] = prediction
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)

    def on_prediction(self, prediction: StampedPrediction, now: float) -> None:
        """Take in a prediction."""
        self._last_message = now
        self.streams.note(ChainPart.PREDICTIONS, now)
        if prediction.region_count:
            prediction = self.regions.on_prediction(prediction)
            if self._is_late(prediction):
                return  # Of a box that was drawn on a held picture; whoever drew it waits for it.
        self._arrivals.append(now)
        self.rate(now)
        self.prediction = prediction
        self.predictions[prediction.stamp] = prediction
        if len(self.predictions) > MAX_PREDICTIONS:
            self.predictions.popitem(last=False)
        self.on_change(ViewPart.PREDICTION)

    def _is_late(self, prediction: StampedPrediction) -> bool:
        known = self.predictions.get(prediction.stamp)
        return (known is not None and not known.region_count) or (
            self.prediction is not None and prediction.stamp < self.prediction.stamp)

    def note_picture(self, reason: str) -> None:
        """Note why there is no picture; empty: there is one."""
        if reason != self.picture_note:
            self.picture_note = reason
            self.on_change(ViewPart.HEALTH)

    def on_labels(self, labels: LabelState) -> None:
        """Take in the label set."""
        self.labels = labels
        if self.curve.note_labels(labels.names, labels.samples):
            self.on_change(ViewPart.CURVE)
        self.on_change(ViewPart.LABELS)

    def on_query(self, query: Query) -> None:
        """Take in a query; its vector is held for the answer."""
        self.vectors.hold(query.vector.stamp, query.vector)
        self.queries.put(query.vector.stamp, query if query.asked_at else query._replace(
            asked_at=time.time()))
        self.on_change(ViewPart.QUERIES)

    def on_health(self, health: Health, loss: float | None, now: float) -> None:
        """Take in the classifier's diagnostics.

        Args:
            health: level, message and values.
            loss: the rolling Hamming loss among the values, or None.
            now: seconds on a steady clock.
        """
        self._last_message = now
        self.health = health
        if loss is not None and self.curve.add_loss(self.labels.samples, loss):
            self.on_change(ViewPart.CURVE)
        self.on_change(ViewPart.HEALTH)

    def on_learnt(self, annotation: Annotation, published: bool = True) -> None:
        """Note an annotation that the classifier has learnt; its query is settled.

        An annotation of our own is reported twice, by the answer of the service and by the
        classifier's topic, in either order; right after a start the latter may be missed.

        Args:
            annotation: what was learnt.
            published: whether it came by the topic; otherwise it is the service's answer.
        """
        key = (annotation.stamp, annotation.labels, annotation.absent, annotation.annotator)
        if self._learnt.get(key) == (not published):
            del self._learnt[key]
            return
        self._learnt[key] = published
        if len(self._learnt) > MAX_UNPAIRED:
            self._learnt.popitem(last=False)
        self.note(annotation.annotator, annotation.text)
        before = self.predictions.get(annotation.stamp) or self._kept.get(annotation.stamp)
        if before is not None:
            self.progress.append(was_right(before.predicted, annotation))
            self.on_change(ViewPart.PROGRESS)
        self.settle(annotation.stamp)

    def expect(self, kind: EventKind, who: str) -> None:
        """Note who is about to change the model; the published event does not name them."""
        self._actors[kind] = who

    def on_event(self, event: Event) -> None:
        """Note a change of the model."""
        actor = self._actors.pop(event.kind, '')
        self.note(event.annotator or actor, event.text)
        if event.kind in (EventKind.RENAME, EventKind.REMOVE, EventKind.MERGE_LABELS):
            self._retire(event.label)
        elif event.kind in (EventKind.RESET, EventKind.LOAD):
            self.progress.clear()
        self.on_change(ViewPart.PROGRESS)

    def _retire(self, label: str) -> None:
        """Remove the queries about a label that has another name, or is gone."""
        for query in self.queries:
            if label in (doubtful_label(query, self.labels), *query.candidates[:1]):
                self.settle(query.vector.stamp)

    def settle(self, stamp: int) -> None:
        """Remove a query, answered or skipped."""
        if self.queries.pop(stamp) is not None:
            self.on_change(ViewPart.QUERIES)

    def on_truth(self, truth: Truth) -> None:
        """Take in what the model would get right of the samples, each left out in turn."""
        self.truth = truth
        self.on_change(ViewPart.PROGRESS)

    def note(self, who: str, text: str) -> None:
        """Add an entry to the activity log."""
        self.activity.add(who, text)
        self.on_change(ViewPart.ACTIVITY)
