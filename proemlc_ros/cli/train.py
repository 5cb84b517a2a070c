# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc train`: from hours of recordings to a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from proemlc_ros.classifier.buffer import MatchingRules
from proemlc_ros.cli.model_options import (
    add_bag_arguments,
    add_model_arguments,
    bag_choice,
    check_folder_of,
    load_model,
    model_settings,
)
from proemlc_ros.cli.number_types import at_least_one
from proemlc_ros.cli.progress import ProgressBar
from proemlc_ros.cli.wording import counted
from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.backends import DaskBackend, LocalBackend, TrainingBackend, train
from proemlc_ros.evaluation.runs import BagSet

# Processes on this machine where nothing is said.
WORKERS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Learns from recordings and journals, streaming and in constant memory. The result does '
        'not depend on the order of the recordings, nor on where they are read; a hidden layer '
        'that is drawn from samples takes the first ones.')
    parser.add_argument('bags', nargs='+', type=Path, metavar='BAG',
                        help='a recording or a journal')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='FILE',
                        help='where to save the model (.npz)')
    parser.add_argument('--model', type=Path, metavar='FILE', help='go on with a saved model')
    parser.add_argument('--engine', choices=('local', 'dask'), default='local',
                        help='where the recordings are read; default: in this process')
    parser.add_argument('--scheduler', default='', metavar='ADDRESS',
                        help='of a Dask cluster; default: processes on this machine')
    parser.add_argument('--workers', type=at_least_one, metavar='N',
                        help=f'processes on this machine for --engine dask; default {WORKERS}')
    add_model_arguments(parser)
    add_bag_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Train, save, and return the exit code."""
    check_folder_of(args.output)
    settings = model_settings(args)
    start = load_model(args.model) if args.model else None
    if start is not None and settings:
        raise ParameterError('a saved model has its settings already; leave out '
                             f'{", ".join(settings)}, or --model')
    if args.engine != 'dask' and (args.scheduler or args.workers):
        raise ParameterError('--scheduler and --workers need --engine dask')
    # Workers elsewhere do not share the folder this command was started in.
    bags = [bag.resolve() for bag in args.bags]
    recordings = BagSet(
        bags, bag_choice(args), MatchingRules(tolerance=args.tolerance), args.best_effort)
    with ProgressBar(2 * len(bags), 'recordings') as bar:
        engine: TrainingBackend = LocalBackend(bar.advance) if args.engine == 'local' else DaskBackend(
            args.scheduler, args.workers or WORKERS, bar.advance)
        try:
            model, total = train(recordings, settings, engine, start)
        finally:
            if isinstance(engine, DaskBackend):
                engine.close()
    model.save(args.output)
    for note in total.notes:
        print(f'note: {note}')
    for cause, count in sorted(total.rejects.items()):
        print(f'refused {count}: {cause}')
    print(f'{args.output}: {counted(model.samples, "sample")} from '
          f'{counted(len(bags), "recording")}, {counted(len(model.labels), "label")}')
    return 0
