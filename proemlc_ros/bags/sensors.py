# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sensor topics of a recording, read through the extractors that the feature node uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.classifier.records import StampedVector
from proemlc_ros.errors import BadSensorDataError, BagError
from proemlc_ros.features.pipeline import FeaturePipeline
from proemlc_ros.features.registry import EXTRACTORS
from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES
from proemlc_ros.features.settings import pipeline_from_settings

SensorReader = Callable[[Any, int], list[StampedVector]]


def sensor_readers(
    bag: BagReader, pipeline: FeaturePipeline, rejects: Counter[str]
) -> Iterator[tuple[str, SensorReader]]:
    """Yield each sensor's topic with the function from message and time to feature vectors.

    Args:
        bag: The recording.
        pipeline: What is made of the messages.
        rejects: Counts messages that cannot be used, by cause.

    Raises:
        BagError: A topic is missing, or has another type.

    """
    for sensor in pipeline.sensors:
        topic = bag.topic(sensor.topic)
        if topic.type != sensor.message_type:
            raise BagError(f'{bag.path}: {topic.name} has {topic.type}; the extractor '
                           f'{sensor.extractor.name} was set up for {sensor.message_type}')
        yield topic.name, _reader(pipeline, sensor.name, rejects)


def _reader(pipeline: FeaturePipeline, name: str, rejects: Counter[str]) -> SensorReader:
    def read(message: Any, time: int) -> list[StampedVector]:
        try:
            found = pipeline.push(name, message, time)
        except BadSensorDataError as error:
            rejects[error.cause] += 1
            return []
        return [StampedVector(one.stamp, np.asarray(one.values, np.float32), one.extractor)
                for one in found]

    return read


def default_pipeline(bag: BagReader) -> FeaturePipeline:
    """Return the usual extractor for the only sensor in a recording.

    Raises:
        BagError: There is none, or more than one.

    """
    found = [(topic, sensor) for sensor, types in MESSAGE_TYPES.items()
             for topic in bag.of_type(*types)]
    if len(found) != 1:
        names = ', '.join(topic.name for topic, _ in found) or 'none'
        raise BagError(
            f'{bag.path}: no feature vectors in it, and not exactly one sensor topic to make '
            f'them from (found: {names}); name one: --extract TOPIC=EXTRACTOR')
    topic, sensor = found[0]
    usual = next(kind for kind, extractor in EXTRACTORS.items() if extractor.sensor == sensor)
    return extracting(bag, {topic.name: usual})


def extracting(bag: BagReader, extractors: dict[str, str]) -> FeaturePipeline:
    """Return the pipeline that uses extractors by topic, such as {'/scan': 'laser_profile'}.

    Raises:
        BagError: There is no such topic.
        ExtractorError: There is no such extractor, or it is for another sensor.

    """
    settings: dict[str, Any] = {'sensors': []}
    for number, (name, kind) in enumerate(extractors.items()):
        topic = bag.topic(name)
        settings['sensors'].append(f'sensor{number}')
        settings[f'sensor{number}'] = {'topic': name, 'extractor': kind, 'type': topic.type}
    return pipeline_from_settings(settings)
