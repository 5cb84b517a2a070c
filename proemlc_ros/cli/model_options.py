# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share: the settings of a model, and what to read of a bag."""

from __future__ import annotations

import argparse
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection
from proemlc_ros.cli.number_types import not_negative
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, Options
from proemlc_ros.errors import ModelFileError, ParameterError

_WORDS = {'true': True, 'false': False, 'none': None}


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the settings of a new model."""
    usual = Options()
    group = parser.add_argument_group('model', 'Settings of a new model.')
    group.add_argument('--hidden-size', type=int, metavar='N',
                       help=f'hidden neurons (default: {usual.hidden_size})')
    group.add_argument('--ridge', type=float, metavar='X',
                       help=f'weight of the ridge penalty (default: {usual.ridge:g})')
    group.add_argument('--activation', metavar='NAME',
                       help=f'kind of hidden neurons: {", ".join((*RADIAL, *ACTIVATIONS))} '
                       f'(default: {usual.activation})')
    group.add_argument('--scaling', metavar='NAME',
                       help=f'of the features: {", ".join(SCALINGS)} (default: {usual.scaling})')
    group.add_argument('--seed', type=int, metavar='N',
                       help=f'seed of the hidden layer (default: {usual.seed})')
    group.add_argument(
        '--set', metavar='NAME=VALUE', action='append', default=[], dest='settings',
        help='any other setting of the learner, such as threshold=learnt_hamming; may be repeated')


def model_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    named = ('hidden_size', 'ridge', 'activation', 'scaling', 'seed')
    settings = {name: getattr(args, name) for name in named if getattr(args, name) is not None}
    for text in args.settings:
        settings.update(parse_settings(text))
    return settings


def parse_settings(text: str) -> dict[str, Any]:
    """Read settings such as "hidden_size=1000,activation=rbf".

    Raises:
        ParameterError: A part is not NAME=VALUE, or there is no such setting.

    >>> parse_settings('hidden_size=1000,bias=true')
    {'hidden_size': 1000, 'bias': True}

    """
    known = {one.name for one in fields(Options)}
    settings = {}
    for part in text.split(','):
        name, equals, value = (piece.strip() for piece in part.partition('='))
        if not equals or name not in known:
            raise ParameterError(
                f'{part!r} is not a setting; expected NAME=VALUE with one of: '
                f'{", ".join(sorted(known))}')
        settings[name] = _value(value)
    return settings


def new_model(settings: dict[str, Any]) -> ProEMLC:
    """Return an empty model with some settings.

    Raises:
        ParameterError: A setting has a value that makes no sense.

    """
    return ProEMLC(**settings)


def check_folder_of(*paths: Path | None) -> None:
    """Refuse files that could not be written, before hours of work rather than after.

    Raises:
        ParameterError: The folder of a file does not exist, or the file is itself a folder.

    """
    for path in paths:
        if path is not None and path.is_dir():
            raise ParameterError(f'{path}: this is a folder; name a file')
        if path is not None and not path.absolute().parent.is_dir():
            raise ParameterError(f'{path}: there is no folder {path.absolute().parent}')


def load_model(path: str | Path) -> ProEMLC:
    """Return a saved model.

    Raises:
        ModelFileError: It is not a whole model file; names the file.

    """
    try:
        return ProEMLC.load(path)
    except ModelFileError as error:
        raise type(error)(f'{path}: {error}') from error


def add_bag_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what to read of recordings."""
    group = parser.add_argument_group('recordings')
    group.add_argument('--features', default='', metavar='TOPIC',
                       help='topic of feature vectors, where there are several')
    group.add_argument('--annotations', default='', metavar='TOPIC',
                       help='topic of annotations, where there are several')
    group.add_argument('--extract', action='append', default=[], metavar='TOPIC=EXTRACTOR',
                       help='make features from a sensor topic, such as /scan=laser_profile; '
                       'may be repeated')
    group.add_argument('--sensors', type=Path, metavar='FILE',
                       help='make features as this parameter file of the feature node says')
    group.add_argument('--tolerance', type=not_negative, default=0.0, metavar='SECONDS',
                       help='how far the stamps of annotation and features may differ '
                       '(default: %(default)g)')
    group.add_argument('--best-effort', action='store_true',
                       help='use what is readable of damaged recordings')


def bag_choice(args: argparse.Namespace) -> TopicSelection:
    """Return what the command line says about topics.

    Raises:
        ParameterError: --extract is not TOPIC=EXTRACTOR.

    """
    extractors = {}
    for text in args.extract:
        topic, equals, kind = text.rpartition('=')
        if not equals or not topic or not kind:
            raise ParameterError(f'--extract {text!r} is not TOPIC=EXTRACTOR')
        extractors[topic] = kind
    sensors = None
    if args.sensors is not None:
        sensors = partial(_pipeline_from_file, args.sensors)
    elif extractors:
        sensors = partial(_pipeline_of, extractors)
    return TopicSelection(args.features, args.annotations, sensors)


# Functions of the module, not lambdas: they travel to the workers of a cluster.
def _pipeline_from_file(path: Path, _: BagReader) -> Any:
    from proemlc_ros.features.parameter_file import settings_from_file
    from proemlc_ros.features.settings import pipeline_from_settings
    return pipeline_from_settings(settings_from_file(path))


def _pipeline_of(extractors: dict[str, str], bag: BagReader) -> Any:
    from proemlc_ros.bags.sources import extractor_pipeline
    return extractor_pipeline(bag, extractors)


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
