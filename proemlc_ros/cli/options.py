# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share: numbers, settings of a model, what to read of bags."""

from __future__ import annotations

import argparse
import json
import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from proemlc_ros.classifier.matching import MatchingRules
from proemlc_ros.cli.inputs import add_label_columns, as_bags, is_picture_folder
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import ACTIVATIONS, RADIAL, SCALINGS, Options
from proemlc_ros.errors import ModelFileError, ParameterError
from proemlc_ros.journal.journal import Journal

if TYPE_CHECKING:  # Not all commands read bags, and rosbags may be missing.
    from proemlc_ros.bags.reader import BagReader
    from proemlc_ros.evaluation.bag_steps import BagSet
    from proemlc_ros.features.pipeline import FeaturePipeline

_Number = TypeVar('_Number', int, float)

_WORDS = {'true': True, 'false': False, 'none': None}


def add_action(actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str,
               run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    """Add an action of a command: its name, what runs it, and its line of help."""
    parser = actions.add_parser(name, help=text, description=f'{text[0].upper()}{text[1:]}.')
    parser.set_defaults(run=run)
    return parser


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
    settings = _read_settings_file(args.settings_file) if args.settings_file else {}
    settings |= {name: getattr(args, name) for name in named if getattr(args, name) is not None}
    for text in args.settings:
        settings.update(parse_settings(text))
    return settings


def _read_settings_file(path: Path) -> dict[str, Any]:
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


def load_model(path: Path) -> ProEMLC:
    """Return a saved model.

    Args:
        path: A model file, or a folder of `proemlc teach`, a model directory or a journal.

    Raises:
        ModelFileError: It is not a whole model file; names the file.
        BagError: It is a folder without a model.
    """
    try:
        if not path.is_dir() and Journal.find(path) is None:
            return ProEMLC.load(path)
        from proemlc_ros.evaluation.predictions import model_of
        return model_of(path)
    except ModelFileError as error:
        # The learner speaks to a program.
        text = str(error).replace('a file that ProEMLC.save() has written',
                                  'the .npz file of a node, of train or of merge')
        raise type(error)(f'{path}: {text}') from error


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
    group.add_argument('--tolerance', type=real(least=0), default=0.0, metavar='SECONDS',
                       help='largest difference between the stamps of annotation and features '
                       '(default: %(default)g)')
    add_label_columns(group, 'tables (.csv, .arff)')
    group.add_argument('--best-effort', action='store_true',
                       help='read the intact part of damaged bags')


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
    from proemlc_ros.bags.sources import TopicSelection
    from proemlc_ros.evaluation.bag_steps import BagSet
    file, wanted = args.sensors, args.extract
    plain = [text for text in wanted if '=' not in text]
    found = as_bags(paths, args.labels, ''.join(plain[-1:]), file)
    if any(map(is_picture_folder, paths)):
        # Their features are made here; what is left are bags of feature vectors.
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
    return BagSet([Journal.find(path) or path for path in found],
                  TopicSelection(args.features, args.annotations, sensors),
                  MatchingRules(tolerance=args.tolerance), args.best_effort, parallel)


# Functions of the module, not lambdas: they are pickled for the workers of a cluster.
def _pipeline_from_file(path: Path, _: BagReader) -> FeaturePipeline:
    from proemlc_ros.features.settings import pipeline_from_settings, settings_from_file
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


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return what reads an integer of at least `least` and at most `most`.

    >>> whole(1)('12')
    12
    """
    def read(text: str) -> int:
        try:
            return _within(int(text), text, least, most)
        except ValueError:
            raise ArgumentTypeError(f'{text!r} is not an integer') from None
    return read


def real(least: float | None = None, above: float | None = None) -> Callable[[str], float]:
    """Return what reads a finite number of at least `least`, or above `above`."""
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ArgumentTypeError(f'{text!r} is not a number')
        if above is not None and value <= above:
            raise ArgumentTypeError(f'{text} is not above {above:g}')
        return _within(value, text, least)
    return read


def _within(value: _Number, text: str, least: float | None,
            most: float | None = None) -> _Number:
    if least is not None and value < least:
        raise ArgumentTypeError(f'{text} is below {least:g}')
    if most is not None and value > most:
        raise ArgumentTypeError(f'{text} is above {most:g}')
    return value


def check_folder_of(*paths: Path | None) -> None:
    """Check that files can be written, before hours of work rather than after.

    Raises:
        ParameterError: The folder of a file does not exist, or the file is itself a folder.
    """
    for path in paths:
        if path is not None and path.is_dir():
            raise ParameterError(f'{path}: this is a folder; name a file')
        if path is not None and not path.absolute().parent.is_dir():
            raise ParameterError(f'{path}: there is no folder {path.absolute().parent}')
