# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators see of regions: the answers about each box of a picture, and its vector."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from proemlc_ros.records import WHOLE, Region, StampedPrediction, StampedVector
from proemlc_ros.regions import SAME, overlap
from proemlc_ros.stamps import StampBuffer

Box = tuple[float, float, float, float]
Kept = TypeVar('Kept')
# Pictures of the stream, and pictures that somebody holds, whose boxes are kept.
MAX_PICTURES = 60
MAX_HELD = 50
# Boxes of one picture; whoever sends more of the same stamp replaces the oldest.
MAX_BOXES = 200
# Seconds to wait for the answer about a box that was drawn.
ANSWER_TIMEOUT = 5.0


@dataclass(slots=True)
class PictureRegions:
    """The boxes of one picture: predictions and vectors by box."""

    predictions: dict[Box, StampedPrediction] = field(default_factory=dict)
    vectors: dict[Box, StampedVector] = field(default_factory=dict)


class RegionView:
    """The boxes of recent and of held pictures. All calls come from one thread."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._pictures: StampBuffer[PictureRegions] = StampBuffer(MAX_PICTURES, max_held=MAX_HELD)
        self._waiting: deque[tuple[int, Region, asyncio.Future[StampedPrediction]]] = deque()
        # By stamp: who waits, and the answers that came since.
        self._looks: dict[int, tuple[asyncio.Future[list[StampedPrediction]],
                                     list[StampedPrediction]]] = {}

    def on_vector(self, vector: StampedVector) -> None:
        """Take in the vector of a box."""
        _keep(self._picture(vector.stamp).vectors, vector.region.box, vector)

    def on_prediction(self, prediction: StampedPrediction) -> StampedPrediction:
        """Take in the answer about a box; return that about its picture, as far as it is known."""
        found = self._picture(prediction.stamp).predictions
        _keep(found, prediction.region.box, prediction)
        for waiting in list(self._waiting):
            stamp, region, future = waiting
            if stamp == prediction.stamp and overlap(region, prediction.region) >= SAME:
                self._waiting.remove(waiting)
                if not future.done():
                    future.set_result(prediction)
        look = self._looks.get(prediction.stamp)
        if look is not None:
            look[1].append(prediction)
            if len(look[1]) >= prediction.region_count and not look[0].done():
                look[0].set_result(look[1])
        return merged(list(found.values()))

    def hold(self, stamp: int) -> bool:
        """Keep the boxes of a picture for answers to come; return whether there are any."""
        self._pictures.hold(stamp)
        found = self._pictures.find(stamp)
        return found is not None and bool(found.vectors)

    def predictions(self, stamp: int) -> list[StampedPrediction]:
        """Return the answers about the boxes of a picture."""
        found = self._pictures.find(stamp)
        return [] if found is None else list(found.predictions.values())

    def vector(self, stamp: int, region: Region) -> StampedVector | None:
        """Return the vector of a box, or None where it is no longer kept."""
        found = self._pictures.find(stamp)
        if found is None or not found.vectors:
            return None
        best = max(found.vectors.values(), key=lambda one: overlap(one.region, region))
        return best if overlap(best.region, region) >= SAME else None

    def expect(self, stamp: int, region: Region) -> asyncio.Future[StampedPrediction]:
        """Return a future of the answer about a box that is about to be drawn."""
        future: asyncio.Future[StampedPrediction] = asyncio.get_running_loop().create_future()
        self._waiting.append((stamp, region, future))
        if len(self._waiting) > MAX_HELD:
            self._waiting.popleft()[2].cancel()
        return future

    def look(self, stamp: int) -> asyncio.Future[list[StampedPrediction]]:
        """Return a future of the answers about the feature node's own boxes of a picture."""
        future: asyncio.Future[list[StampedPrediction]] = (
            asyncio.get_running_loop().create_future())
        self._looks[stamp] = future, []
        if len(self._looks) > MAX_HELD:
            self._looks.pop(next(iter(self._looks)))[0].cancel()
        return future

    def _picture(self, stamp: int) -> PictureRegions:
        found = self._pictures.find(stamp)
        if found is None:
            found = PictureRegions()
            self._pictures.put(stamp, found)
        return found


def _keep(boxes: dict[Box, Kept], box: Box, value: Kept) -> None:
    boxes[box] = value
    if len(boxes) > MAX_BOXES:
        del boxes[next(iter(boxes))]


def merged(predictions: list[StampedPrediction]) -> StampedPrediction:
    """Return the answers about the boxes of a picture as one: all labels, the best first."""
    newest = predictions[-1]
    # The same labels, as far as version and number tell.
    same = [one for one in predictions if one.version == newest.version
            and len(one.scores) == len(newest.scores)
            and len(one.probabilities) == len(newest.probabilities)]
    labels: dict[str, float] = {}
    for one in same:
        for place, name in enumerate(one.predicted):
            labels[name] = max(labels.get(name, -1.0), -float(place))
    return newest._replace(
        predicted=tuple(sorted(labels, key=lambda name: -labels[name])),
        scores=np.max([one.scores for one in same], axis=0),
        probabilities=np.max([one.probabilities for one in same], axis=0),
        novelty=max(one.novelty for one in same), region=WHOLE,
        unknown=all(one.unknown for one in same))
