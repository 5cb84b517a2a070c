# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share: settings of a model, and what to read of bags."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import TopicSelection
from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.cli.arguments import not_negative
from proemlc_ros.cli.picture_folders import bags_of, is_picture_folder
from proemlc_ros.cli.table_bags import without_tables
from proemlc_ros.cli.tables import add_label_columns
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, Options
from proemlc_ros.errors import ModelFileError, ParameterError
from proemlc_ros.evaluation.bag_steps import BagSet

if TYPE_CHECKING:
    from proemlc_ros.features.pipeline import FeaturePipeline

_WORDS = {'true': True, 'false': False, 'none': None}


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the settings of a new model."""
    default = Options()
    group = parser.add_argument_group(
        'model', 'Settings of a new model. Those not given are those of the node that wrote a '
        'journal, else those that fit the features, else the defaults.')
    group.add_argument('--hidden-size', type=int, metavar='N',
                       help=f'number of hidden neurons (default: {default.hidden_size})')
    group.add_argument('--ridge', type=float, metavar='X',
                       help=f'weight of the ridge penalty, above 0 (default: {default.ridge:g})')
    group.add_argument('--activation', metavar='NAME',
                       help=f'kind of hidden neurons: {", ".join((*RADIAL, *ACTIVATIONS))} '
                       f'(default: {default.activation})')
    group.add_argument('--scaling', metavar='NAME',
                       help=f'scaling of the features: {", ".join(SCALINGS)} '
                       f'(default: {default.scaling})')
    group.add_argument('--seed', type=int, metavar='N',
                       help=f'seed of the hidden layer (default: {default.seed})')
    group.add_argument('--settings', type=Path, metavar='FILE', dest='settings_file',
                       help='settings that "proemlc select --json" has written')
    group.add_argument(
        '--set', metavar='NAME=VALUE', action='append', default=[], dest='settings',
        help='any other setting of the learner, such as threshold=learnt_hamming; may be repeated')


def model_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line.

    Raises:
        ParameterError: A setting is unknown.

    """
    named = ('hidden_size', 'ridge', 'activation', 'scaling', 'seed')
    settings = read_settings_file(args.settings_file) if args.settings_file else {}
    settings |= {name: getattr(args, name) for name in named if getattr(args, name) is not None}
    for text in args.settings:
        settings.update(parse_settings(text))
    return settings


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the settings of a file that `proemlc select --json` has written.

    Raises:
        ParameterError: It cannot be read, or has other settings.

    """
    try:
        settings = json.loads(path.read_text(encoding='utf-8'))
        return Options.from_dict(settings).as_dict()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ParameterError(f'{path}: no settings of "proemlc select --json": {error}') from error


def check_no_settings(settings: dict[str, Any]) -> None:
    """Check that no settings were given beside --model.

    Raises:
        ParameterError: There are some.

    """
    if settings:
        raise ParameterError('a saved model has its settings already; leave out '
                             f'{", ".join(settings)}, or --model')


def parse_settings(text: str) -> dict[str, Any]:
    """Read settings such as "hidden_size=1000,activation=rbf".

    Raises:
        ParameterError: A part is not NAME=VALUE, or there is no such setting.

    >>> parse_settings('hidden_size=1000,bias=true')
    {'hidden_size': 1000, 'bias': True}

    """
    known = {one.name: one.default for one in fields(Options)}
    settings = {}
    for part in text.split(','):
        name, equals, value = (piece.strip() for piece in part.partition('='))
        if not equals or name not in known:
            raise ParameterError(
                f'{part!r} is not a setting; expected NAME=VALUE with one of: '
                f'{", ".join(sorted(known))}')
        # A name such as "none" is a word of its own there.
        settings[name] = value if isinstance(known[name], str) else _value(value)
    return settings


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
    """Add what to read of bags."""
    group = parser.add_argument_group('bags')
    group.add_argument('--features', default='', metavar='TOPIC',
                       help='topic of feature vectors, where there are several')
    group.add_argument('--annotations', default='', metavar='TOPIC',
                       help='topic of annotations, where there are several')
    group.add_argument('--extract', action='append', default=[], metavar='TOPIC=EXTRACTOR',
                       help='extract features from a sensor topic, such as /scan=laser_profile; '
                       'may be repeated; for a folder of pictures EXTRACTOR alone')
    group.add_argument('--sensors', type=Path, metavar='FILE',
                       help='extract features by this parameter file of the feature node')
    group.add_argument('--tolerance', type=not_negative, default=0.0, metavar='SECONDS',
                       help='largest difference between the stamps of annotation and features '
                       '(default: %(default)g)')
    add_label_columns(group, 'tables (.csv, .arff)')
    group.add_argument('--best-effort', action='store_true',
                       help='use what is readable of damaged bags')


def bag_set(
    args: argparse.Namespace, paths: Sequence[Path], parallel: bool = False,
) -> BagSet:
    """Return bags with what the command line says about reading them.

    Args:
        args: The parsed command line.
        paths: The bags.
        parallel: Whether long bags are read in a second process.

    Raises:
        ParameterError: --extract is not TOPIC=EXTRACTOR.

    """
    paths = without_tables(paths, args.labels)
    file, wanted = args.sensors, args.extract
    if any(map(is_picture_folder, paths)):
        # Their features are made here; what is left are bags of feature vectors.
        plain = [text for text in wanted if '=' not in text]
        paths = bags_of(paths, ''.join(plain[-1:]), file)
        file, wanted = None, [text for text in wanted if '=' in text]
    extractors = {}
    for text in wanted:
        topic, equals, kind = text.rpartition('=')
        if not equals or not topic or not kind:
            raise ParameterError(f'--extract {text!r} is not TOPIC=EXTRACTOR')
        extractors[topic] = kind
    sensors = None
    if file is not None:
        sensors = partial(_pipeline_from_file, file)
    elif extractors:
        sensors = partial(_pipeline_of, extractors)
    return BagSet(paths, TopicSelection(args.features, args.annotations, sensors),
                  MatchingRules(tolerance=args.tolerance), args.best_effort, parallel)


# Functions of the module, not lambdas: they are pickled for the workers of a cluster.
def _pipeline_from_file(path: Path, _: BagReader) -> FeaturePipeline:
    from proemlc_ros.features.parameter_file import settings_from_file
    from proemlc_ros.features.settings import pipeline_from_settings
    return pipeline_from_settings(settings_from_file(path))


def _pipeline_of(extractors: dict[str, str], bag: BagReader) -> FeaturePipeline:
    from proemlc_ros.bags.sources import extractor_pipeline
    return extractor_pipeline(bag, extractors)


def _value(text: str) -> bool | int | float | str | None:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
