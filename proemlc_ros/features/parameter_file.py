# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the feature node from a ROS 2 parameter file, with values as ROS reads them.

ROS 2 (rcl_yaml_param_parser) and PyYAML read some plain scalars differently: `1e-3` is a number to
ROS and text to PyYAML, `12:30` text to ROS and a number to PyYAML. The tests compare with rcl.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import IO, Any

import yaml

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.settings import nested

# Tag of scalars without quotes and tag, whose type the text decides.
PLAIN = '!plain'
TEXT = 'tag:yaml.org,2002:str'

MAX_DEPTH = 100

TRUE = frozenset('Y y yes Yes YES true True TRUE on On ON'.split())
FALSE = frozenset('N n no No NO false False FALSE off Off OFF'.split())
# What the C functions strtol and strtod take.
DECIMAL = re.compile(r'[+-]?(0|[1-9][0-9]*)')
OCTAL = re.compile(r'[+-]?0[0-7]+')
HEXADECIMAL = re.compile(r'[+-]?0[xX][0-9a-fA-F]+')
FLOAT = re.compile(r'[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?')
SPECIAL = re.compile(r'\.(nan|NaN|NAN)|[+-]?\.(inf|Inf|INF)|[+-]?(?i:nan|inf|infinity)')


class _ShallowLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Rejects brackets in brackets without end, which take PyYAML quadratic time."""

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        """Begin a list or mapping in brackets."""
        if self.flow_level >= MAX_DEPTH:
            raise yaml.MarkedYAMLError(
                None, None, f'more than {MAX_DEPTH} brackets in each other', self.get_mark())
        super().fetch_flow_collection_start(token)


def read_yaml(file: IO[bytes] | str) -> Any:
    """Return the content of a YAML file with the types that ROS gives to its values.

    Raises:
        yaml.YAMLError: not YAML, a key that comes twice, or a value that is missing.

    """
    loader = _ShallowLoader(file)
    # In place of PyYAML's own rules: every plain scalar, with any first character.
    loader.yaml_implicit_resolvers = {None: [(PLAIN, re.compile(''))]}
    try:
        return value_of(loader.get_single_node())
    finally:
        loader.dispose()


def value_of(node: yaml.Node | None) -> Any:
    """Return the value of a YAML node; names of parameters are always text."""
    if isinstance(node, yaml.MappingNode):
        return mapping_of(node)
    if isinstance(node, yaml.SequenceNode):
        return [value_of(part) for part in node.value]
    if node is None:  # an empty file
        return None
    if node.style in ('"', "'") or (node.style is None and node.tag == TEXT):
        return node.value
    if node.value == '':
        raise yaml.MarkedYAMLError(None, None, 'a value is missing', node.start_mark)
    return plain_value(node.value)


def mapping_of(node: yaml.MappingNode) -> dict[str, Any]:
    """Return the values of a YAML mapping by name."""
    mapping: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(None, None, 'a key must be a name', key.start_mark)
        if key.value in mapping:
            raise yaml.MarkedYAMLError(
                None, None, f'the key {key.value!r} comes twice', key.start_mark)
        mapping[key.value] = value_of(value)
    return mapping


def plain_value(text: str) -> bool | int | float | str:
    """Return the value that ROS gives to a scalar without quotes.

    >>> [plain_value(text) for text in ('on', '1e-3', '010', '08', '12:30', 'null')]
    [True, 0.001, 8, 8.0, '12:30', 'null']
    """
    if text in TRUE or text in FALSE:
        return text in TRUE
    for pattern, base in ((DECIMAL, 10), (OCTAL, 8), (HEXADECIMAL, 16)):
        if pattern.fullmatch(text) and -2**63 <= int(text, base) < 2**63:
            return int(text, base)
    if SPECIAL.fullmatch(text):
        return float(text.replace('.', ''))
    if FLOAT.fullmatch(text) and math.isfinite(float(text)):
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
            content = read_yaml(file)
    except (OSError, yaml.YAMLError, RecursionError) as error:
        raise ExtractorError(f'cannot read the parameter file {path}: {error}') from error
    for node in content.values() if isinstance(content, dict) else ():
        parameters = node.get('ros__parameters') if isinstance(node, dict) else None
        if isinstance(parameters, dict) and 'sensors' in parameters:
            return nested(parameters)
    raise ExtractorError(
        f'{path} has no parameters of a feature node: a ros__parameters entry with sensors')
