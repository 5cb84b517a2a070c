# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc evaluate`: how well a model predicts what recordings show."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.cli.model_options import (
    add_bag_arguments,
    add_model_arguments,
    bag_choice,
    check_folder_of,
    load_model,
    model_settings,
    new_model,
    parse_settings,
)
from proemlc_ros.cli.number_types import real
from proemlc_ros.cli.progress import ProgressBar
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BagError, ParameterError
from proemlc_ros.evaluation.replay import Replay
from proemlc_ros.evaluation.replay_files import (
    PredictionFile,
    write_csv,
    write_json,
)
from proemlc_ros.evaluation.replay_page import (
    MEASURES,
    comparison_table,
    label_table,
    replay_page,
)
from proemlc_ros.evaluation.report.text import sparkline, text_table
from proemlc_ros.evaluation.result import Result
from proemlc_ros.evaluation.runs import BagSet
from proemlc_ros.evaluation.runs import run as run_once

# Not 1 (an error) and not 2 (wrong arguments): the measure was taken, and the bar not met.
BAR_NOT_MET = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Plays recordings (rosbag2 folders, .db3 or .mcap files, journals) to a model with the '
        'rules of the node: each annotation is first compared with the prediction, then learnt.')
    parser.add_argument('bags', nargs='+', type=Path, metavar='BAG', help='in the order to play')
    parser.add_argument('--model', type=Path, metavar='FILE', help='start from a saved model')
    parser.add_argument('--frozen', action='store_true', help='predict only, learn nothing')
    parser.add_argument('--compare', nargs='+', default=[], metavar='MODEL',
                        help='further runs, each a model file or NAME=VALUE,... settings')
    outputs = parser.add_argument_group('output')
    outputs.add_argument('--json', type=Path, metavar='FILE', help='write all results as JSON')
    outputs.add_argument('--csv', type=Path, metavar='FILE', help='write a line a label as CSV')
    outputs.add_argument('--html', type=Path, metavar='FILE', help='write a report with charts')
    outputs.add_argument('--predictions', type=Path, metavar='FILE',
                         help='write the prediction for every feature vector as CSV')
    outputs.add_argument('--fail-above', action='append', default=[], metavar='MEASURE=VALUE',
                         help=f'end with code {BAR_NOT_MET} if a measure is above, such as '
                              'hamming=0.1; may be repeated')
    outputs.add_argument('--fail-below', action='append', default=[], metavar='MEASURE=VALUE',
                         help='likewise if a measure is below, such as f1=0.8')
    add_model_arguments(parser)
    add_bag_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate and return the exit code."""
    check_folder_of(args.json, args.csv, args.html, args.predictions)
    above, below = _bars(args.fail_above), _bars(args.fail_below)
    recordings = BagSet(
        args.bags, bag_choice(args), MatchingRules(tolerance=args.tolerance), args.best_effort,
        beside=True)
    models = [_first_model(args), *(_compared_model(text, args) for text in args.compare)]
    results = []
    # Counting opens every recording once more: only for someone who watches.
    total = recordings.count() if sys.stderr.isatty() else 0
    for number, (name, model) in enumerate(models):
        with ProgressBar(total, name) as bar, ExitStack() as stack:
            write = None
            if args.predictions and number == 0:
                write = stack.enter_context(PredictionFile(args.predictions)).write
            replay = Replay(model, not args.frozen, recordings.rules, write)
            results.append(run_once(recordings, replay, name, bar.advance))
    _show(results)
    _write(args, results)
    _refuse_empty(results)
    return _judge(results, above, below)


def _first_model(args: argparse.Namespace) -> tuple[str, ProEMLC]:
    settings = model_settings(args)
    if args.model is None:
        return 'default' if not settings else _settings_name(settings), new_model(settings)
    if settings:
        raise ParameterError('a saved model has its settings already; leave out '
                             f'{", ".join(settings)}, or --model')
    return args.model.name, load_model(args.model)


def _compared_model(text: str, args: argparse.Namespace) -> tuple[str, ProEMLC]:
    if '=' not in text or Path(text).exists():
        return Path(text).name, load_model(text)
    return text, new_model({**model_settings(args), **parse_settings(text)})


def _settings_name(settings: dict[str, object]) -> str:
    return ','.join(f'{name}={value}' for name, value in settings.items())


def _bars(texts: list[str]) -> dict[str, float]:
    bars = {}
    for text in texts:
        name, _, value = text.partition('=')
        if name not in MEASURES:
            raise ParameterError(f'{name!r} is no measure; there are: {", ".join(MEASURES)}')
        try:
            bars[name] = real(value)
        except argparse.ArgumentTypeError:
            raise ParameterError(f'{text!r} is not MEASURE=VALUE') from None
    return bars


def _show(results: list[Result]) -> None:
    print(text_table(*comparison_table(results)))
    for result in results:
        print(f'\n{result.name}: Hamming loss over the stream, highest '
              f'{max((point[1] for point in result.curve), default=0.0):.3f}')
        print(f'  {sparkline([point[1] for point in result.curve])}')
        print(text_table(*label_table(result)))
        for note in result.notes:
            print(f'note: {note}')
        for cause, count in sorted(result.rejects.items()):
            print(f'refused {count}: {cause}')


def _write(args: argparse.Namespace, results: list[Result]) -> None:
    bags = [str(bag) for bag in args.bags]
    if args.json:
        write_json(args.json, results, bags)
    if args.csv:
        write_csv(args.csv, results)
    if args.html:
        note = datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC')
        replay_page(results, [Path(bag).name for bag in bags], note).write(args.html)


def _refuse_empty(results: list[Result]) -> None:
    # A table of dashes and exit code 0 would pass for a success, in CI above all.
    for result in results:
        if result.rejects and not result.samples:
            causes = ', '.join(f'{count} {cause}' for cause, count in result.rejects.items())
            raise BagError(f'{result.name}: nothing could be compared, all was refused ({causes})')


def _judge(results: list[Result], above: dict[str, float], below: dict[str, float]) -> int:
    failed = False
    for result in results:
        for bars, sign, word in ((above, 1, 'above'), (below, -1, 'below')):
            for name, bar in bars.items():
                value = result.metrics.get(name)
                if value is None or sign * (value - bar) > 0:
                    failed = True
                    shown = 'not measured' if value is None else f'{value:.4f}'
                    print(f'FAILED {result.name}: {name} is {shown}, {word} {bar:g}')
    return BAR_NOT_MET if failed else 0
