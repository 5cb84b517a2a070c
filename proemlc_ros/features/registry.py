# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The extractors by name, made from the parameters of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.extractors.cloud_histogram import CloudHistogram
from proemlc_ros.features.extractors.colour import ColourHistogram, ColourMoments
from proemlc_ros.features.extractors.gradient_histogram import GradientHistogram
from proemlc_ros.features.extractors.image_extractor import ImageExtractor
from proemlc_ros.features.extractors.laser_profile import LaserProfile
from proemlc_ros.features.extractors.motion_window import ImuWindow, JointWindow
from proemlc_ros.features.extractors.onnx_embedding import OnnxEmbedding

EXTRACTORS: dict[str, type[Extractor]] = {
    extractor.kind: extractor
    for extractor in (
        ColourMoments, ColourHistogram, GradientHistogram, OnnxEmbedding, LaserProfile, ImuWindow,
        JointWindow, CloudHistogram,
    )
}


def extractor_parameters(kind: str) -> list[Field[Any]]:
    """Return the parameters of an extractor as dataclass fields: name, default, description.

    Raises:
        ExtractorError: unknown extractor.

    """
    if kind not in EXTRACTORS:
        raise ExtractorError(
            f'unknown extractor {kind!r}; known are: {", ".join(sorted(EXTRACTORS))}')
    return [entry for entry in fields(EXTRACTORS[kind])  # type: ignore[arg-type]
            if 'description' in entry.metadata]


def image_parameters() -> list[Field[Any]]:
    """Return the parameters that every extractor of images has."""
    return [entry for entry in fields(ImageExtractor) if 'description' in entry.metadata]


def make_extractor(kind: str, parameters: Mapping[str, Any] | None = None) -> Extractor:
    """Make an extractor by name.

    Args:
        kind: such as 'colour_moments'; also with its version, 'colour_moments/1'.
        parameters: values by name; the others take their defaults.

    Raises:
        ExtractorError: unknown extractor, version or parameter, or an unusable value.

    >>> make_extractor('colour_moments', {'grid': 3}).name
    'colour_moments/1(grid=3)'
    """
    kind, _, version = kind.partition('/')
    declared = {entry.name: entry for entry in extractor_parameters(kind)}
    if version and version != str(EXTRACTORS[kind].version):
        raise ExtractorError(
            f'extractor {kind} has version {EXTRACTORS[kind].version} here, not {version}')
    parameters = parameters or {}
    unknown = sorted(set(parameters) - set(declared))
    if unknown:
        raise ExtractorError(
            f'extractor {kind} has no parameter {", ".join(unknown)}; it has: '
            f'{", ".join(declared)}')
    return EXTRACTORS[kind](**{
        name: as_declared(kind, declared[name], value) for name, value in parameters.items()})


def as_declared(kind: str, entry: Field[Any], value: Any) -> Any:
    """Return a value in the type of the parameter's default, as configuration files are loose."""
    expected = type(entry.default)
    if expected is tuple and isinstance(value, (list, tuple)):
        if all(isinstance(part, str) for part in value) and 'str' in str(entry.type):
            return tuple(value)
        if all(is_number(part) for part in value) and 'float' in str(entry.type):
            return tuple(float(part) for part in value)
    if expected is float and is_number(value):
        return float(value)
    # type() and not isinstance(): True is an int to Python, and never meant as one.
    if expected is tuple or type(value) is not expected:
        raise ExtractorError(
            f'parameter {entry.name} of {kind} is {value!r}; it must be of type '
            f'{entry.type}, default {entry.default!r}')
    return value


def is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
