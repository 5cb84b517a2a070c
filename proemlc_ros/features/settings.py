# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a feature pipeline: their defaults, and the pipeline that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.automatic import AUTO, resolved
from proemlc_ros.features.pipeline import FeaturePipeline, Sensor
from proemlc_ros.features.regions.region_sources import REGION_SETTINGS, sensor_regions
from proemlc_ros.features.registry import (
    EXTRACTORS,
    extractor_parameters,
    image_parameters,
    make_extractor,
)
from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES

# Settings of a sensor that are not parameters of its extractor, with default and description.
SENSOR_SETTINGS: dict[str, tuple[Any, str]] = {
    'topic': ('', 'Topic of the sensor'),
    'type': ('', "Message type; empty = the default of the extractor's sensor"),
    'extractor': (
        '', 'Name of the extractor, such as colour_moments; auto = the installed network, else '
        'the best hand-made one'),
    'max_rate': (0.0, 'Vectors per second at most, by stamp; 0 = one per message'),
    'reliability': ('automatic', 'QoS reliability of the subscription: automatic (as the '
                    'publishers offer), best_effort or reliable'),
}
JOIN_SETTINGS: dict[str, tuple[float, str]] = {
    'tolerance': (0.1, 'Largest difference between joined stamps in seconds, 0 to 3600'),
    'patience': (
        0.5, 'Waiting time of a vector for the other sensors in seconds, by stamp, 0 to 3600'),
}


def pipeline_from_settings(settings: Mapping[str, Any]) -> FeaturePipeline:
    """Make a pipeline from nested settings, laid out as in config/features.yaml.

    Raises:
        ExtractorError: a setting is missing, unknown or unusable; the text names it.

    """
    names = settings.get('sensors') or []
    if not names:
        raise ExtractorError(
            'no sensors: set the parameter sensors to a list of names, and NAME.topic and '
            'NAME.extractor for each')
    joining = {key: settings[key] for key in JOIN_SETTINGS if key in settings}
    for key, value in joining.items():
        if not isinstance(value, (int, float)) or not 0 <= value <= 3600:
            raise ExtractorError(f'{key} is {value!r}; it must be between 0 and 3600 seconds')
    return FeaturePipeline(
        [sensor_from_settings(name, settings.get(name) or {}) for name in names], **joining)


def sensor_from_settings(name: str, settings: Mapping[str, Any]) -> Sensor:
    """Make one sensor; `name` serves for errors and counters.

    Raises:
        ExtractorError: as in pipeline_from_settings.

    """
    for key in ('topic', 'extractor'):
        if not settings.get(key):
            raise ExtractorError(f'sensor {name}: set the parameter {name}.{key}')
    kind = str(settings['extractor'])
    own = {key: value for key, value in settings.items()
           if key not in SENSOR_SETTINGS and key not in REGION_SETTINGS}
    try:
        extractor = make_extractor(*resolved(kind, own))
    except ExtractorError as error:
        raise ExtractorError(f'sensor {name}: {error}') from error
    max_rate = settings.get('max_rate', 0.0)
    if not isinstance(max_rate, (int, float)) or not 0 <= max_rate <= 1e6:
        raise ExtractorError(
            f'sensor {name}: max_rate is {max_rate!r}; it must be from 0 to 1000000')
    return Sensor(
        name=name, topic=str(settings['topic']), extractor=extractor, max_rate=float(max_rate),
        message_type=message_type(name, extractor.sensor, str(settings.get('type') or '')),
        regions=sensor_regions(name, extractor.sensor, settings))


def message_type(name: str, sensor: str, stated: str) -> str:
    """Return the message type to subscribe to; the default one where none is set."""
    possible = list(MESSAGE_TYPES[sensor])
    stated = stated if '/msg/' in stated else stated.replace('/', '/msg/')
    if stated and stated not in possible:
        raise ExtractorError(
            f'sensor {name}: its extractor takes {" or ".join(possible)}, not {stated}')
    return stated or possible[0]


def nested(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with dotted names as nested dictionaries."""
    result: dict[str, Any] = {}
    for key, value in parameters.items():
        *groups, last = str(key).split('.')
        place = result
        for group in groups:
            place = place.setdefault(group, {})
        if isinstance(value, Mapping):
            place.setdefault(last, {}).update(nested(value))
        else:
            place[last] = value
    return result


def declared_settings(kind: str) -> dict[str, tuple[Any, str]]:
    """Return every setting of a sensor with this extractor: default and description."""
    kind = kind.partition('/')[0]
    # What an automatic extractor turns out to be has further parameters, at its own defaults.
    entries = image_parameters() if kind == AUTO else extractor_parameters(kind)
    own = {entry.name: (entry.default, entry.metadata['description']) for entry in entries}
    regions = REGION_SETTINGS if kind == AUTO or EXTRACTORS[kind].sensor == 'image' else {}
    return {**SENSOR_SETTINGS, **regions, **own}
