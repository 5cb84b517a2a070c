# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is where: the answers about all regions of a picture together, averaged over tracks."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.core.prediction import Classification
from proemlc_ros.records import Region, StampedVector, Vector
from proemlc_ros.stamps import NANOSECONDS

# Border of the confidence where labels are chosen by score: targets are -1 and 1.
HALF = 0.5


class Confidences(NamedTuple):
    """How sure the model is of each label, 0 to 1; those above the border are predicted."""

    values: Vector
    border: float


def confidences_of(found: Classification) -> Confidences:
    """Return the probabilities where they decide, else scores moved so that 0.5 is the border."""
    if found.by_probability:
        return Confidences(np.asarray(found.probabilities, np.float32), float(found.threshold))
    return Confidences(moved_to_half(found.scores, found.threshold, -1.0, 1.0), HALF)


def even_confidences_of(found: Classification) -> Vector:
    """Return how sure the model is of each label, 0 to 1; above 0.5: exactly those predicted."""
    if found.by_probability:
        return moved_to_half(found.probabilities, found.threshold, 0.0, 1.0)
    return confidences_of(found).values


def moved_to_half(values: Any, threshold: float, low: float, high: float) -> Vector:
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


class TrackAverage:
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
        self._average = TrackAverage()
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
        order = [int(column) for column in np.argsort(-values, kind='stable')
                 if values[column] > sure.border]
        return Detection(vector.region, tuple(classification.names[column] for column in order),
                         tuple(float(values[column]) for column in order))
