# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature pipeline: messages of several sensors to joined feature vectors, without ROS."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector, checked_vector, guarded
from proemlc_ros.features.regions.crops import PipelineRegions, RegionVector
from proemlc_ros.features.regions.region_sources import SensorRegions
from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.regions import WHOLE, Region
from proemlc_ros.stamps import NANOSECONDS, stamp_of

_Item = TypeVar('_Item')

# A stamp this much earlier than the last one is a clock that jumped back (a looping bag), not
# disorder on the network.
_JUMP_BACK = NANOSECONDS
# Most items that wait where one stream is silent or floods.
MOST_WAITING = 1000


class _Throttle:
    """Limits the mean rate of a stream, by stamp: 30 Hz limited to 20 gives 20, not 15."""

    def __init__(self, max_rate: float) -> None:
        """Take the limit in messages per second; 0 = no limit."""
        self._period = round(NANOSECONDS / max_rate) if max_rate > 0 else 0
        # Stamps jitter; a message a little early must not wait for the next one.
        self._allowance = self._period // 20
        self._due: int | None = None

    def allows(self, stamp: int) -> bool:
        """Return whether the message of this stamp (nanoseconds) may pass, and count it."""
        if self._period == 0:
            return True
        jumped_back = self._due is not None and stamp < self._due - self._period - _JUMP_BACK
        if self._due is None or jumped_back:
            self._due = stamp
        if stamp < self._due - self._allowance:
            return False
        # What a pause missed is not made up for; messages are at least half a period apart.
        self._due = max(self._due + self._period, stamp + self._period // 2)
        return True


class _Stamped(NamedTuple, Generic[_Item]):
    """An item with its stamp in nanoseconds."""

    stamp: int
    item: _Item


class _StampJoiner(Generic[_Item]):
    """Joins items of several streams by approximate stamp.

    The first stream leads. A leading item waits until every other stream has reached its stamp,
    because only then is the nearest item known, or until any stream is `patience` beyond it.
    The nearest items within `tolerance` join it; where one is missing it is dropped and counted.
    The result depends on stamps and order alone, so a bag gives the same as the live robot.
    """

    def __init__(self, streams: int, tolerance: int, patience: int) -> None:
        """Take the number of streams, and times in nanoseconds."""
        self._tolerance = tolerance
        self._patience = max(patience, tolerance)
        self._leading: deque[_Stamped[_Item]] = deque()
        # Followers carry the count of arrivals as second entry, so that items are not compared.
        self._following: list[list[tuple[int, int, _Item]]] = [[] for _ in range(streams - 1)]
        self._newest: list[int | None] = [None] * streams
        self._arrivals = 0
        self.dropped = [0] * streams
        """For each stream, how many leading items were dropped for lack of a match in it."""

    def push(self, stream: int, stamp: int, item: _Item) -> list[tuple[int, list[_Item]]]:
        """Add an item; return what is complete now: the leading stamp, one item per stream."""
        newest = self._newest[stream]
        if newest is not None and stamp < newest - _JUMP_BACK:
            self.clear()
        self._newest[stream] = max(stamp, self._newest[stream] or stamp)
        if stream == 0:
            self._leading.append(_Stamped(stamp, item))
        else:
            self._arrivals += 1
            insort(self._following[stream - 1], (stamp, self._arrivals, item))
            del self._following[stream - 1][:-MOST_WAITING]
        return self._complete()

    def clear(self) -> None:
        """Drop everything that waits."""
        self._leading.clear()
        for followers in self._following:
            followers.clear()
        self._newest = [None] * len(self._newest)

    def _complete(self) -> list[tuple[int, list[_Item]]]:
        joined = []
        while self._leading and self._decided(self._leading[0].stamp):
            leader = self._leading.popleft()
            followers = [self._nearest(stream, leader.stamp) for stream in self._following]
            self._drop_before(leader.stamp - self._tolerance)
            if None not in followers:
                joined.append((leader.stamp, [leader.item, *(
                    follower.item for follower in followers if follower is not None)]))
            for stream, follower in enumerate(followers, start=1):
                self.dropped[stream] += follower is None
        return joined

    def _decided(self, stamp: int) -> bool:
        if len(self._leading) > MOST_WAITING:
            return True
        followers = self._newest[1:]
        if all(newest is not None and newest >= stamp for newest in followers):
            return True
        return max(newest for newest in self._newest if newest is not None) > (
            stamp + self._patience)

    def _nearest(
        self, followers: list[tuple[int, int, _Item]], stamp: int,
    ) -> _Stamped[_Item] | None:
        place = bisect_left(followers, (stamp,))
        near = followers[max(place - 1, 0):place + 1]
        best = min(near, key=lambda follower: abs(follower[0] - stamp), default=None)
        if best is None or abs(best[0] - stamp) > self._tolerance:
            return None
        return _Stamped(best[0], best[2])

    def _drop_before(self, stamp: int) -> None:
        for followers in self._following:
            del followers[:bisect_left(followers, (stamp,))]


@dataclass(frozen=True)
class Sensor:
    """One source of features: topic and type of its messages, and the extractor."""

    name: str
    topic: str
    message_type: str
    extractor: Extractor
    max_rate: float = 0.0
    """Vectors per second, by stamp; 0 = one per message."""
    regions: SensorRegions | None = None
    """How its pictures are cut into regions; None: not at all."""


@dataclass(frozen=True)
class FeatureSample:
    """One joined feature vector, with the stamp (nanoseconds) and frame of the first sensor."""

    stamp: int
    frame_id: str
    values: Vector
    extractor: str
    region: Region = WHOLE
    region_count: int = 0
    """Vectors made of the same picture; 0: one of the whole."""


@dataclass(frozen=True)
class PreparedMessage:
    """A message on its way through a pipeline.

    Args:
        index: of its sensor.
        stamp: nanoseconds.
        message: as it came.
        wanted: whether the limit of the rate lets it pass.
        sample: what the extractor goes on with.
        error: why there is no sample.
    """

    index: int
    stamp: int
    message: Any
    wanted: bool
    sample: Any = None
    error: BadSensorDataError | None = None


class FeaturePipeline:
    """Extracts features, limits their rate and joins them; counts the rejected messages.

    The first sensor leads: its stamps are the vectors' stamps. `push` does all of the work for a
    message; `prepare` and `finish` are its halves, for two threads: messages are to be finished in
    the order in which they were prepared, and nothing else is to be called beside `finish`.
    """

    def __init__(
        self, sensors: Sequence[Sensor], tolerance: float = 0.1, patience: float = 0.5,
    ) -> None:
        """Take the sensors and the limits of the join.

        Args:
            sensors: at least one; the first one leads.
            tolerance: seconds that the stamps of joined sensors may differ.
            patience: seconds, by stamp, that a vector waits for the other sensors.

        Raises:
            ExtractorError: no sensors, two of the same name, or two with regions.
        """
        if sum(sensor.regions is not None for sensor in sensors) > 1:
            raise ExtractorError('only one sensor of a feature pipeline can have regions')
        if not sensors or len({sensor.name for sensor in sensors}) != len(sensors):
            raise ExtractorError('a feature pipeline needs sensors, each with its own name')
        self.sensors = list(sensors)
        self.received: Counter[str] = Counter()
        self.rejected: Counter[tuple[str, str]] = Counter()
        self._index = {sensor.name: index for index, sensor in enumerate(sensors)}
        self._limits = [_Throttle(sensor.max_rate) for sensor in sensors]
        self.regions = PipelineRegions(sensors)
        self._joiner: _StampJoiner[tuple[str, Sequence[RegionVector]]] = _StampJoiner(
            len(sensors), round(tolerance * NANOSECONDS), round(patience * NANOSECONDS))

    @property
    def extractor(self) -> str:
        """Identity of the joined vector: the extractors' names in the order of the sensors."""
        return '+'.join(sensor.extractor.name for sensor in self.sensors)

    @property
    def unjoined(self) -> dict[str, int]:
        """For each sensor, how many vectors were dropped because it had nothing near in time."""
        return {sensor.name: count for sensor, count in zip(self.sensors, self._joiner.dropped)}

    def push(self, name: str, message: Any, arrival: int | None = None) -> list[FeatureSample]:
        """Take a message of the named sensor and return the vectors that are complete now.

        Args:
            name: of the sensor.
            message: of the sensor's message_type.
            arrival: nanoseconds; stands in for a stamp of zero.

        Raises:
            BadSensorDataError: the message cannot be used; it is counted as rejected.
        """
        return self.finish(self.prepare(name, message, arrival))

    def prepare(self, name: str, message: Any, arrival: int | None = None) -> PreparedMessage:
        """Do what can be done for a message before those ahead of it are finished.

        Args:
            name: of the sensor.
            message: of the sensor's message_type.
            arrival: nanoseconds; stands in for a stamp of zero.
        """
        index = self._index[name]
        self.received[name] += 1
        stamp = stamp_of(message.header) or arrival or 0
        wanted = self._limits[index].allows(stamp)
        sample, error = None, None
        if self.sensors[index].regions is None:  # else the regions are prepared, once known
            try:
                sample = _prepared_sample(self.sensors[index], message, wanted)
            except BadSensorDataError as raised:
                error = raised
        return PreparedMessage(index, stamp, message, wanted, sample, error)

    def finish(self, prepared: PreparedMessage) -> list[FeatureSample]:
        """Return the vectors that are complete with a prepared message.

        Raises:
            BadSensorDataError: the message cannot be used; it is counted as rejected.
        """
        sensor = self.sensors[prepared.index]
        message, stamp, wanted = prepared.message, prepared.stamp, prepared.wanted
        try:
            waited = self.regions.remember(sensor, message, stamp, wanted)
            if prepared.error is not None:
                raise prepared.error
            if not wanted:
                if sensor.regions is None:
                    guarded(sensor.extractor, sensor.extractor.observe, prepared.sample)
                return []
            vectors = (
                [RegionVector(checked_vector(
                    sensor.extractor, sensor.extractor.finished, prepared.sample))]
                if sensor.regions is None
                else self.regions.of_picture(sensor, message, stamp, waited))
        except BadSensorDataError as error:
            self.rejected[sensor.name, error.cause] += 1
            raise
        return [] if vectors is None else self._join(prepared.index, stamp, message, vectors)

    def push_regions(self, message: Any, drawn: bool = False) -> list[FeatureSample]:
        """Take regions of a picture, and return the vectors that are complete now.

        Args:
            message: RegionArray or Detection2DArray; its stamp is that of a picture.
            drawn: whether an operator has drawn them; else they come from the topic of the
                sensor's settings.

        Raises:
            BadSensorDataError: the picture cannot be used; it is counted as rejected.
        """
        sensor = self.regions.camera(drawn)
        if sensor is None:
            return []
        try:
            found = self.regions.of_message(sensor, message, drawn)
        except BadSensorDataError as error:
            self.rejected[sensor.name, error.cause] += 1
            raise
        if found is None:
            return []
        stamp, picture, vectors = found
        if len(self.sensors) > 1:
            return self._join(self._index[sensor.name], stamp, picture, vectors)
        return self._samples(stamp, [(picture.header.frame_id, vectors)])

    def _join(self, index: int, stamp: int, message: Any,
              vectors: Sequence[RegionVector]) -> list[FeatureSample]:
        joined = self._joiner.push(index, stamp, (message.header.frame_id, vectors))
        return [sample for stamp, parts in joined for sample in self._samples(stamp, parts)]

    def _samples(self, stamp: int, parts: Sequence[tuple[str, Sequence[RegionVector]]],
                 ) -> list[FeatureSample]:
        """Return a sample for each region; the other sensors are the same for all of them."""
        rows = [len(vectors) for _, vectors in parts]
        return [
            FeatureSample(
                stamp, parts[0][0], np.concatenate([one.values for one in row]), self.extractor,
                region, 0 if region.is_whole else max(rows))
            for row in product(*(vectors for _, vectors in parts))
            for region in [next((one.region for one in row if not one.region.is_whole), WHOLE)]
        ]


def _prepared_sample(sensor: Sensor, message: Any, wanted: bool) -> Any:
    """Return what the extractor of a sensor goes on with; where no vector is wanted, the sample.

    Raises:
        BadSensorDataError: the message cannot be used.
    """
    def prepare(message: Any) -> Any:
        sample = sample_of(message, sensor.message_type)
        return sensor.extractor.prepared(sample) if wanted else sample
    return guarded(sensor.extractor, prepare, message)
