# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature pipeline: messages of several sensors to joined feature vectors, without ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractor import Extractor, Vector
from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.features.streams import StampJoiner, Throttle
from proemlc_ros.stamps import NANOSECONDS, stamp_of


@dataclass(frozen=True)
class Sensor:
    """One source of features: topic and type of its messages, and the extractor."""

    name: str
    topic: str
    message_type: str
    extractor: Extractor
    max_rate: float = 0.0
    """Vectors per second, by stamp; 0 = one per message."""


@dataclass(frozen=True)
class FeatureSample:
    """One joined feature vector, with the stamp (nanoseconds) and frame of the first sensor."""

    stamp: int
    frame_id: str
    values: Vector
    extractor: str


class FeaturePipeline:
    """Extracts features, limits their rate and joins them; counts the rejected messages.

    The first sensor leads: its stamps are the vectors' stamps.
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
            ExtractorError: no sensors, or two of the same name.

        """
        if not sensors or len({sensor.name for sensor in sensors}) != len(sensors):
            raise ExtractorError('a feature pipeline needs sensors, each with its own name')
        self.sensors = list(sensors)
        self.received: Counter[str] = Counter()
        self.rejected: Counter[tuple[str, str]] = Counter()
        self._index = {sensor.name: index for index, sensor in enumerate(sensors)}
        self._limits = [Throttle(sensor.max_rate) for sensor in sensors]
        self._joiner: StampJoiner[tuple[str, Vector]] = StampJoiner(
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
        index = self._index[name]
        sensor = self.sensors[index]
        self.received[name] += 1
        stamp = stamp_of(message.header) or arrival or 0
        try:
            vector = self._vector(sensor, message, self._limits[index].allows(stamp))
        except BadSensorDataError as error:
            self.rejected[name, error.cause] += 1
            raise
        if vector is None:
            return []
        joined = self._joiner.push(index, stamp, (message.header.frame_id, vector))
        return [
            FeatureSample(
                stamp, parts[0][0], np.concatenate([part[1] for part in parts]), self.extractor)
            for stamp, parts in joined
        ]

    def _vector(self, sensor: Sensor, message: Any, wanted: bool) -> Vector | None:
        extractor = sensor.extractor
        try:
            sample = sample_of(message, sensor.message_type)
            if not wanted:
                extractor.observe(sample)
                return None
            vector = extractor(sample)
        except BadSensorDataError:
            raise
        except Exception as error:  # a message must never stop the robot, whatever is in it
            raise BadSensorDataError(
                'extractor_failed', f'{extractor.name} failed: {error!r}') from error
        if not np.isfinite(vector).all():
            raise BadSensorDataError(
                'not_finite', f'{extractor.name} gave values that are not finite')
        return vector
