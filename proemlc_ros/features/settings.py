# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A feature pipeline from its settings: the parameters of the feature node, or a file of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.pipeline import FeaturePipeline, Sensor
from proemlc_ros.features.registry import extractor_parameters, make_extractor
from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES

# Settings of a sensor that are not parameters of its extractor, with default and description.
SENSOR_SETTINGS: dict[str, tuple[Any, str]] = {
    'topic': ('', 'topic of the sensor'),
    'type': ('', "message type; empty: the usual one of the extractor's sensor"),
    'extractor': ('', 'what makes the features'),
    'max_rate': (0.0, 'vectors a second, by stamp; 0: one for every message'),
    'reliability': ('best_effort', 'QoS of the subscription: best_effort or reliable'),
}
JOIN_SETTINGS: dict[str, tuple[float, str]] = {
    'tolerance': (0.1, 'seconds that the stamps of joined sensors may lie apart'),
    'patience': (0.5, 'seconds, by stamp, that a vector waits for the other sensors'),
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
    """Make one sensor; `name` is only for messages and counting.

    Raises:
        ExtractorError: as in pipeline_from_settings.

    """
    for key in ('topic', 'extractor'):
        if not settings.get(key):
            raise ExtractorError(f'sensor {name}: set the parameter {name}.{key}')
    kind = str(settings['extractor'])
    own = {key: value for key, value in settings.items() if key not in SENSOR_SETTINGS}
    try:
        extractor = make_extractor(kind, own)
    except ExtractorError as error:
        raise ExtractorError(f'sensor {name}: {error}') from error
    max_rate = settings.get('max_rate', 0.0)
    if not isinstance(max_rate, (int, float)) or not 0 <= max_rate <= 1e6:
        raise ExtractorError(f'sensor {name}: max_rate is {max_rate!r}; it must be 0 or positive')
    return Sensor(
        name=name, topic=str(settings['topic']), extractor=extractor, max_rate=float(max_rate),
        message_type=message_type(name, extractor.sensor, str(settings.get('type') or '')))


def message_type(name: str, sensor: str, wanted: str) -> str:
    """Return the message type to subscribe to, the usual one where none is wanted."""
    possible = list(MESSAGE_TYPES[sensor])
    wanted = wanted if '/msg/' in wanted else wanted.replace('/', '/msg/')
    if wanted and wanted not in possible:
        raise ExtractorError(
            f'sensor {name}: its extractor takes {" or ".join(possible)}, not {wanted}')
    return wanted or possible[0]


def settings_from_file(path: str | Path) -> dict[str, Any]:
    """Read the settings of the feature node from a ROS 2 parameter file.

    Raises:
        ExtractorError: the file is missing, or has no parameters of a feature node.

    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        content = YAML(typ='safe').load(Path(path).read_text())
    except (OSError, YAMLError, UnicodeDecodeError) as error:
        raise ExtractorError(f'cannot read the parameter file {path}: {error}') from error
    for node in (content or {}).values() if isinstance(content, dict) else ():
        parameters = node.get('ros__parameters') if isinstance(node, dict) else None
        if isinstance(parameters, dict) and 'sensors' in parameters:
            return nested(parameters)
    raise ExtractorError(
        f'{path} has no parameters of a feature node: a ros__parameters entry with sensors')


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
    own = {entry.name: (entry.default, entry.metadata['description'])
           for entry in extractor_parameters(kind.partition('/')[0])}
    return {**SENSOR_SETTINGS, **own}
