# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a feature pipeline, from parameters or a ROS 2 parameter file, and what they make.

ROS 2 (rcl_yaml_param_parser) and PyYAML read some plain scalars differently: `1e-3` is a number to
ROS and text to PyYAML, `12:30` text to ROS and a number to PyYAML. Files are read as ROS reads
them; the tests compare with rcl.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import yaml

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractor import Vector
from proemlc_ros.features.pipeline import FeaturePipeline, Sensor
from proemlc_ros.features.regions.region_sources import REGION_SETTINGS, sensor_regions
from proemlc_ros.features.registry import (
    AUTO,
    EXTRACTORS,
    automatic,
    extractor_parameters,
    image_parameters,
    make_extractor,
)
from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES, compressed_image_array

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
# Tag of scalars without quotes and tag, whose type the text decides.
_PLAIN = '!plain'
_TEXT = 'tag:yaml.org,2002:str'
_MAX_DEPTH = 100
_TRUE = frozenset('Y y yes Yes YES true True TRUE on On ON'.split())
_FALSE = frozenset('N n no No NO false False FALSE off Off OFF'.split())
# What the C functions strtol and strtod take.
_DECIMAL = re.compile(r'[+-]?(0|[1-9][0-9]*)')
_OCTAL = re.compile(r'[+-]?0[0-7]+')
_HEXADECIMAL = re.compile(r'[+-]?0[xX][0-9a-fA-F]+')
_FLOAT = re.compile(r'[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?')
_SPECIAL = re.compile(r'\.(nan|NaN|NAN)|[+-]?\.(inf|Inf|INF)|[+-]?(?i:nan|inf|infinity)')


def pipeline_from_settings(settings: Mapping[str, Any], learnt: str = '') -> FeaturePipeline:
    """Make a pipeline from nested settings, laid out as in config/features.yaml.

    Args:
        settings: the nested settings.
        learnt: extractor that a model has learnt from, which `auto` keeps; empty: there is none.

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
        [sensor_from_settings(name, settings.get(name) or {}, part)
         for name, part in zip(names, learnt_parts(learnt, len(names)), strict=True)], **joining)


def learnt_parts(learnt: str, count: int) -> list[str]:
    """Return what a model has learnt from, by sensor; empty texts where that is not clear."""
    parts = learnt.split('+')
    return parts if len(parts) == count else [''] * count


def sensor_from_settings(name: str, settings: Mapping[str, Any], learnt: str = '') -> Sensor:
    """Make one sensor; `name` serves for errors and counters, `learnt` is what `auto` keeps.

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
        if kind == AUTO:
            kind, own, _ = automatic(own, learnt)
        extractor = make_extractor(kind, own)
    except ExtractorError as error:
        raise ExtractorError(f'sensor {name}: {error}') from error
    max_rate = settings.get('max_rate', 0.0)
    if not isinstance(max_rate, (int, float)) or not 0 <= max_rate <= 1e6:
        raise ExtractorError(
            f'sensor {name}: max_rate is {max_rate!r}; it must be from 0 to 1000000')
    return Sensor(
        name=name, topic=str(settings['topic']), extractor=extractor, max_rate=float(max_rate),
        message_type=_message_type(name, extractor.sensor, str(settings.get('type') or '')),
        regions=sensor_regions(name, extractor.sensor, settings))


def _message_type(name: str, sensor: str, stated: str) -> str:
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


class _ShallowLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Rejects brackets in brackets without end, which take PyYAML quadratic time."""

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        """Begin a list or mapping in brackets."""
        if self.flow_level >= _MAX_DEPTH:
            raise yaml.MarkedYAMLError(
                None, None, f'more than {_MAX_DEPTH} brackets in each other', self.get_mark())
        super().fetch_flow_collection_start(token)


def _read_yaml(file: IO[bytes] | str) -> Any:
    """Return the content of a YAML file with the types that ROS gives to its values.

    Raises:
        yaml.YAMLError: not YAML, a key that comes twice, or a value that is missing.
    """
    loader = _ShallowLoader(file)
    # In place of PyYAML's own rules: every plain scalar, with any first character.
    loader.yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(''))]}
    try:
        return _value_of(loader.get_single_node())
    finally:
        loader.dispose()


def _value_of(node: yaml.Node | None) -> Any:
    """Return the value of a YAML node; names of parameters are always text."""
    if isinstance(node, yaml.MappingNode):
        return _mapping_of(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value_of(part) for part in node.value]
    if node is None:  # an empty file
        return None
    if node.style in ('"', "'") or (node.style is None and node.tag == _TEXT):
        return node.value
    if node.value == '':
        raise yaml.MarkedYAMLError(None, None, 'a value is missing', node.start_mark)
    return _plain_value(node.value)


def _mapping_of(node: yaml.MappingNode) -> dict[str, Any]:
    """Return the values of a YAML mapping by name."""
    mapping: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(None, None, 'a key must be a name', key.start_mark)
        if key.value in mapping:
            raise yaml.MarkedYAMLError(
                None, None, f'the key {key.value!r} comes twice', key.start_mark)
        mapping[key.value] = _value_of(value)
    return mapping


def _plain_value(text: str) -> bool | int | float | str:
    """Return the value that ROS gives to a scalar without quotes.

    >>> [_plain_value(text) for text in ('on', '1e-3', '010', '08', '12:30', 'null')]
    [True, 0.001, 8, 8.0, '12:30', 'null']
    """
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    for pattern, base in ((_DECIMAL, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text) and -2**63 <= int(text, base) < 2**63:
            return int(text, base)
    if _SPECIAL.fullmatch(text):
        return float(text.replace('.', ''))
    if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def settings_from_file(path: str | Path) -> dict[str, Any]:
    """Read the settings of the feature node from a ROS 2 parameter file.

    Args:
        path: of a file as in config/features.yaml; the first node with `sensors` is taken.

    Raises:
        ExtractorError: the file cannot be read (the text has line and column), or has no
            parameters of a feature node.
    """
    try:
        with open(path, 'rb') as file:
            content = _read_yaml(file)
    except (OSError, yaml.YAMLError, RecursionError) as error:
        raise ExtractorError(f'cannot read the parameter file {path}: {error}') from error
    for node in content.values() if isinstance(content, dict) else ():
        parameters = node.get('ros__parameters') if isinstance(node, dict) else None
        if isinstance(parameters, dict) and 'sensors' in parameters:
            return nested(parameters)
    raise ExtractorError(
        f'{path} has no parameters of a feature node: a ros__parameters entry with sensors')


class PictureEmbedding:
    """Makes feature vectors of compressed pictures, as a pipeline of one camera does.

    Args:
        pipeline: of the feature node.

    Raises:
        ExtractorError: it needs more than one picture.
    """

    def __init__(self, pipeline: FeaturePipeline) -> None:
        sensors = pipeline.sensors
        if len(sensors) != 1 or not sensors[0].message_type.endswith('Image'):
            names = ', '.join(f'{sensor.name} ({sensor.message_type})' for sensor in sensors)
            raise ExtractorError(f'features can be made again from pictures alone, but the '
                                 f'sensors are {names}; give one camera')
        self.extractor = pipeline.extractor
        self._extract = sensors[0].extractor

    @classmethod
    def from_file(cls, path: Path) -> PictureEmbedding:
        """Return the embedding of a parameter file of the feature node."""
        return cls(pipeline_from_settings(settings_from_file(path)))

    def vector(self, image_format: str, data: bytes) -> Vector:
        """Return the features of a compressed picture.

        Raises:
            BadSensorDataError: the picture is broken.
        """
        return self._extract(compressed_image_array(
            SimpleNamespace(format=image_format, data=data)))
