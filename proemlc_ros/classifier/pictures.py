# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the last seconds by stamp, and what is where in one picture.

An annotation is kept with the picture that it is about, and never waits for it: where the picture
comes later, it is written then. The answers about all regions of a picture are put together, and
averaged over tracks.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core.prediction import Classification
from proemlc_ros.records import WHOLE, Annotation, Picture, Region, StampedVector, Vector
from proemlc_ros.stamps import NANOSECONDS, StampBuffer

if TYPE_CHECKING:
    from proemlc_ros.classifier.durable_model import DurableModel

# Nanoseconds by which the stamps of a picture and of a feature vector made from it may differ.
_TOLERANCE = 5_000_000
# Annotations that may wait for their pictures.
_MOST_EXPECTED = 200
# Pictures of each kind that are kept, however few bytes they have.
_MOST_KEPT = 1000


class _CameraPictureSource(Protocol):
    """A picture as it came from the camera."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes."""

    def picture(self, region: Region) -> Picture | None:
        """Return it, or a region of it, small and compressed; None where it is broken."""


class _ExpectedPicture(NamedTuple):
    """An annotation that was learnt without its picture: entry number and region."""

    number: int
    region: Region


class PictureBuffer:
    """The newest pictures as they came, older ones small; in bounded memory.

    Args:
        max_bytes: for both together.
        on_error: called with failures, in words.
    """

    def __init__(self, max_bytes: int = 64_000_000,
                 on_error: Callable[[str], None] = lambda text: None) -> None:
        self.max_bytes = max_bytes
        self.active = False
        # Annotations that were learnt without a picture, and have not got one later.
        self.missing = 0
        self._on_error = on_error
        self._fresh: StampBuffer[_CameraPictureSource] = StampBuffer(
            _MOST_KEPT, tolerance=_TOLERANCE)
        self._small: StampBuffer[Picture] = StampBuffer(_MOST_KEPT, tolerance=_TOLERANCE)
        self._expected: StampBuffer[_ExpectedPicture] = StampBuffer(
            _MOST_EXPECTED, tolerance=_TOLERANCE)
        # Annotations without a picture that are just being written.
        self._missed: set[Annotation] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._fresh) + len(self._small)

    def add(self, stamp: int, source: _CameraPictureSource) -> list[tuple[int, Picture]]:
        """Keep a picture.

        Returns:
            Number of each annotation that waited for it, with its picture.
        """
        with self._lock:
            self._fresh.max_bytes = self._small.max_bytes = self.max_bytes // 2
            old = self._fresh.put(stamp, source, source.nbytes)
            expected = [item for item, _ in self._expected.at(stamp).values()]
            self._expected.pop(stamp)
            self.missing -= len(expected)
        for old_stamp, old_source in old:  # Outside the lock: it takes a millisecond.
            self._keep_small(old_stamp, old_source)
        found = ((item.number, self._made(source, item.region)) for item in expected)
        return [(number, picture) for number, picture in found if picture is not None]

    def find(self, annotation: Annotation) -> Picture | None:
        """Return the picture that an annotation is about; None where it is not there."""
        if not self.active:
            return None
        with self._lock:
            source = self._fresh.find(annotation.stamp)
            # The whole picture is better than none where the region is not to be had any more.
            small = self._small.find(annotation.stamp)
        found = self._made(source, annotation.region) if source is not None else small
        if found is None:
            if len(self._missed) > _MOST_EXPECTED:
                self._missed.clear()  # They were never written: the disk failed.
            self._missed.add(annotation)
        return found

    def settle(self, number: int, annotation: Annotation) -> None:
        """Take note of the entry of an annotation; where its picture is missing, it may follow."""
        if annotation in self._missed:
            self._missed.discard(annotation)
            with self._lock:
                self.missing += 1
                self._expected.put(
                    annotation.stamp, _ExpectedPicture(number, annotation.region), key=number)

    def clear(self) -> None:
        """Forget all pictures."""
        with self._lock:
            self._fresh.clear()
            self._small.clear()
            self._expected.clear()

    def _keep_small(self, stamp: int, source: _CameraPictureSource) -> None:
        picture = self._made(source, WHOLE)
        if picture is None:
            return
        with self._lock:
            self._small.put(stamp, picture, len(picture.data))

    def _made(self, source: _CameraPictureSource, region: Region) -> Picture | None:
        try:
            return source.picture(region)
        except Exception as error:  # An annotation is not refused for its picture.
            self._on_error(f'a picture cannot be kept: {error}')
            return None


def keep_late_picture(durable: DurableModel, number: int, picture: Picture) -> None:
    """Write the picture of an annotation that was learnt before it came.

    Raises:
        JournalError: it is not kept.
    """
    with durable.lock:
        entry = durable.journal.append_late_picture(number, picture)
        if durable.position == entry - 1:
            durable.position = entry  # It changes nothing that a snapshot would lack.


# ----- detections -----


# Border of the confidence where labels are chosen by score: targets are -1 and 1.
HALF = 0.5


class _Confidences(NamedTuple):
    """How sure the model is of each label, 0 to 1; those above the border are predicted."""

    values: Vector
    border: float


def confidences_of(found: Classification) -> _Confidences:
    """Return the probabilities where they decide, else scores moved so that 0.5 is the border."""
    if found.by_probability:
        return _Confidences(np.asarray(found.probabilities, np.float32), float(found.threshold))
    return _Confidences(_moved_to_half(found.scores, found.threshold, -1.0, 1.0), HALF)


def even_confidences_of(found: Classification) -> Vector:
    """Return how sure the model is of each label, 0 to 1; above 0.5: exactly those predicted."""
    if found.by_probability:
        return _moved_to_half(found.probabilities, found.threshold, 0.0, 1.0)
    return confidences_of(found).values


def _moved_to_half(values: Any, threshold: float, low: float, high: float) -> Vector:
    """Return values, from low to high, as numbers from 0 to 1; the threshold becomes 0.5.

    They are compared with the threshold as float32, as the message has them.
    """
    above = np.asarray(values, np.float32) > np.float32(threshold)
    exact = np.asarray(values, np.float64)
    rising = HALF + HALF * (exact - threshold) / max(high - threshold, 1e-9)
    falling = HALF * (exact - low) / max(threshold - low, 1e-9)
    moved = np.clip(np.where(above, rising, falling), 0.0, 1.0).astype(np.float32)
    # Rounding may bring one to the border.
    least = np.nextafter(np.float32(HALF), np.float32(1))
    return np.where(above, np.maximum(moved, least), np.minimum(moved, np.float32(HALF)))


class Detection(NamedTuple):
    """A region with the labels in it, best first, and how sure the model is of each."""

    region: Region
    labels: tuple[str, ...]
    confidences: tuple[float, ...]


@dataclass(slots=True)
class _AnsweredTrack:
    version: int
    seen: int
    answers: deque[Vector] = field(default_factory=lambda: deque(maxlen=10))


class _TrackAverage:
    """Averages the answers about an object over the pictures that show it.

    Args:
        patience: seconds, by stamp, after which an id is that of another object.
        max_tracks: objects remembered.
    """

    def __init__(self, patience: float = 2.0, max_tracks: int = 1000) -> None:
        self._patience = round(patience * NANOSECONDS)
        self._max_tracks = max_tracks
        self._tracks: OrderedDict[str, _AnsweredTrack] = OrderedDict()

    def __call__(self, vector: StampedVector, values: Vector, version: int) -> Vector:
        """Add an answer, and return the mean of those about the same object.

        Args:
            vector: that was classified.
            values: one per label.
            version: of the label set; answers of another one do not compare.
        """
        name = vector.region.id
        if not name:
            return values
        track = self._tracks.pop(name, None)
        if (track is None or track.version != version
                or not 0 <= vector.stamp - track.seen <= self._patience):
            track = _AnsweredTrack(version, vector.stamp)
        track.seen = vector.stamp
        track.answers.append(values)
        self._tracks[name] = track
        if len(self._tracks) > self._max_tracks:
            self._tracks.popitem(last=False)
        return np.asarray(np.mean(track.answers, axis=0, dtype=np.float64), np.float32)


class DetectionCollector:
    """Collects the answers about a picture until those about all of its regions are there.

    Args:
        max_pictures: pictures that may be incomplete at a time.

    Attributes:
        incomplete: pictures dropped because vectors of theirs were lost.
    """

    def __init__(self, max_pictures: int = 10) -> None:
        self.incomplete = 0
        self._max_pictures = max_pictures
        self._average = _TrackAverage()
        self._pictures: OrderedDict[int, dict[Region, Detection]] = OrderedDict()

    def add(self, vector: StampedVector,
            prediction: VersionedPrediction) -> list[Detection] | None:
        """Add an answer; return those about the whole picture once they are complete."""
        if not vector.region_count:
            return None
        found = self._pictures.setdefault(vector.stamp, {})
        found[vector.region] = self._detection(vector, prediction)
        if len(found) >= vector.region_count:
            return list(self._pictures.pop(vector.stamp).values())
        if len(self._pictures) > self._max_pictures:
            self._pictures.popitem(last=False)
            self.incomplete += 1
        return None

    def _detection(self, vector: StampedVector, prediction: VersionedPrediction) -> Detection:
        classification = prediction.classification
        sure = confidences_of(classification)
        values = self._average(vector, sure.values, prediction.version)
        order = [] if classification.unknown else [
            int(column) for column in np.argsort(-values, kind='stable')
            if values[column] > sure.border]
        return Detection(vector.region, tuple(classification.names[column] for column in order),
                         tuple(float(values[column]) for column in order))
