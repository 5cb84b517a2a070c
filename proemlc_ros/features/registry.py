# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The extractors by name, made from the parameters of a configuration; `auto` means the best one.

`auto` takes deep features where a network is installed, else the best hand-made ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, NamedTuple

from proemlc_ros.errors import BackboneError, ExtractorError
from proemlc_ros.features.backbone.store import default_backbone, installed_backbones
from proemlc_ros.features.extractor import Extractor
from proemlc_ros.features.extractors import images, motion, onnx_embedding, ranges

# Every extractor of these modules that has a kind.
EXTRACTORS: dict[str, type[Extractor]] = {
    found.kind: found
    for module in (images, onnx_embedding, ranges, motion) for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, Extractor) and hasattr(found, 'kind')
}
AUTO = 'auto'
# Best of the hand-made ones and their combinations, by leave-one-out: docs/features.md.
HAND_MADE = ('colour_histogram', {'colour_bins': 16})


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
    return [entry for entry in fields(images.ImageExtractor) if 'description' in entry.metadata]


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
        name: _as_declared(kind, declared[name], value) for name, value in parameters.items()})


def _as_declared(kind: str, entry: Field[Any], value: Any) -> Any:
    """Return a value in the type of the parameter's default, as configuration files are loose."""
    expected = type(entry.default)
    if expected is tuple and isinstance(value, (list, tuple)):
        if all(isinstance(part, str) for part in value) and 'str' in str(entry.type):
            return tuple(value)
        if all(_is_number(part) for part in value) and 'float' in str(entry.type):
            return tuple(float(part) for part in value)
    if expected is float and _is_number(value):
        return float(value)
    # type() and not isinstance(): True is an int to Python, and never meant as one.
    if expected is tuple or type(value) is not expected:
        raise ExtractorError(
            f'parameter {entry.name} of {kind} is {value!r}; it must be of type '
            f'{entry.type}, default {entry.default!r}')
    return value


def _is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class _AutomaticExtractor(NamedTuple):
    """What the extractor `auto` turned out to be: its kind, its parameters, and why, for logs."""

    kind: str
    parameters: dict[str, Any]
    reason: str


def automatic(parameters: Mapping[str, Any], learnt: str = '') -> _AutomaticExtractor:
    """Return what `auto` means on this machine.

    Args:
        parameters: given ones; they win.
        learnt: name of the extractor that a model has learnt from; it is kept where it can be
            made, since the model is blind with any other. Empty: there is no model.

    Raises:
        ExtractorError: the installed network is damaged.
    """
    try:
        backbone = default_backbone()
        best = _AutomaticExtractor(
            HAND_MADE[0], {**HAND_MADE[1], **_of_colours(parameters)},
            'hand-made features (colours): no network is installed; deep features see far more: '
            'proemlc backbone install') if backbone is None else _AutomaticExtractor(
            'onnx_embedding', {**backbone.extractor_parameters(), **parameters},
            f'deep features: backbone {backbone.name}, {backbone.width} values')
    except BackboneError as error:
        raise ExtractorError(str(error)) from error
    if not learnt or make_extractor(best.kind, best.parameters).name == learnt:
        return best
    kept = _kept(learnt, parameters)
    if kept is None:
        return best._replace(reason=(
            f'{best.reason}. The model has learnt from {learnt}, which cannot be made here (is '
            'its network still installed?); it will reject these features. Its samples are safe'))
    if backbone is None:
        return _AutomaticExtractor(*kept, f'{learnt}, as the model has learnt from it')
    return _AutomaticExtractor(*kept, (
        f'{learnt}, as the model has learnt from it. A better one is installed: {backbone.name}. '
        'To move the model, call its service ~/reembed with sensors_file: features.yaml (the file '
        'of this package, whose extractor is auto) and start this node again'))


def _of_colours(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return given parameters without those that only a network has, which is not installed."""
    only_deep = {entry.name for entry in extractor_parameters('onnx_embedding')} - {
        entry.name for entry in extractor_parameters(HAND_MADE[0])}
    return {key: value for key, value in parameters.items() if key not in only_deep}


def _kept(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return kind and parameters of the extractor with a name; None: it cannot be made here."""
    kind, _, stated = name.removesuffix(')').partition('(')
    try:
        declared = {entry.name: entry for entry in extractor_parameters(kind.partition('/')[0])}
        parameters = {
            key: _unspelt(declared[key], value)
            for key, _, value in (part.partition('=') for part in stated.split(';') if part)}
        if 'model' in parameters:
            parameters['model'] = next(
                str(one.model) for one in installed_backbones()
                if one.sha256.startswith(parameters['model']))
        parameters.update(given)
        return (kind, parameters) if make_extractor(kind, parameters).name == name else None
    except (ExtractorError, KeyError, ValueError, StopIteration):
        return None


def _unspelt(entry: Field[Any], text: str) -> Any:
    """Return the value of a parameter that a name states."""
    default: Any = entry.default
    if isinstance(default, bool):
        return text == 'True'
    if isinstance(default, tuple):
        return [part if 'str' in str(entry.type) else float(part) for part in text.split(',')]
    return type(default)(text)


def automatic_in_words(parameters: Mapping[str, Any] | None = None, learnt: str = '') -> str:
    """Return what `auto` means on this machine, for logs; arguments as of `automatic`."""
    try:
        return automatic(parameters or {}, learnt).reason
    except ExtractorError as error:
        return str(error)
