# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc train`: make a model from bags, journals and tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from proemlc_ros.cli.arguments import at_least_one, check_folder_of
from proemlc_ros.cli.options import (
    add_bag_arguments,
    add_model_arguments,
    bag_set,
    check_no_settings,
    load_model,
    model_settings,
)
from proemlc_ros.cli.terminal import ProgressBar, counted, show
from proemlc_ros.core.selection.search import SIZES
from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.backends import DaskBackend, LocalBackend
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.collected_samples import CollectedSamples
from proemlc_ros.evaluation.taught_samples import common_settings
from proemlc_ros.evaluation.training import train

# Default number of processes of a Dask cluster on this machine.
WORKERS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Learns from bags and journals, streaming and in constant memory. The result does not '
        'depend on the order of the bags, nor on where they are read; a hidden layer that is '
        'drawn from samples takes the first ones. With --select, all samples together decide on '
        'layer, settings and decision rule, in memory.')
    parser.add_argument('bags', nargs='+', type=Path, metavar='BAG',
                        help='a bag, a journal, a folder of pictures, or a table (.csv, .arff, '
                        '.npz)')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='FILE',
                        help='model file to write (.npz)')
    parser.add_argument('--model', type=Path, metavar='FILE', help='continue with a saved model')
    parser.add_argument('--select', action='store_true',
                        help='choose layer, settings and decision rule by leave-one-out from all '
                        'samples, as a renewal of the node does')
    parser.add_argument('--engine', choices=('local', 'dask'), default='local',
                        help='training back end that reads the bags: this process, or a Dask '
                        'cluster (default: %(default)s)')
    parser.add_argument('--scheduler', default='', metavar='ADDRESS',
                        help='address of a Dask cluster (default: processes on this machine)')
    parser.add_argument('--workers', type=at_least_one, metavar='N',
                        help='number of processes on this machine for --engine dask '
                        f'(default: {WORKERS})')
    add_model_arguments(parser)
    add_bag_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Train, save, and return the exit code."""
    check_folder_of(args.output)
    settings = model_settings(args)
    start = load_model(args.model) if args.model else None
    if start is not None:
        check_no_settings(settings)
    else:
        own, notes = common_settings(args.bags)
        settings = {**own, **settings}
        for note in notes:
            show(f'note: {note}')
    if args.engine != 'dask' and (args.scheduler or args.workers):
        raise ParameterError('--scheduler and --workers need --engine dask')
    # Workers on other machines do not share the folder in which this command was started.
    bags = bag_set(args, [bag.resolve() for bag in args.bags], args.engine == 'local')
    if args.select:
        return _train_selected(args, bags, settings)
    with ProgressBar(len(bags.paths), 'bags') as bar:
        backend = LocalBackend(bar.advance) if args.engine == 'local' else DaskBackend(
            args.scheduler, args.workers or WORKERS, bar.advance)
        try:
            model, total = train(bags, settings, backend, start)
        finally:
            if isinstance(backend, DaskBackend):
                backend.close()
    model.save(args.output)
    for note in total.notes:
        show(f'note: {note}')
    for cause, count in sorted(total.rejects.items()):
        show(f'rejected {count}: {cause}')
    show(f'{args.output}: {counted(model.samples, "sample")} from '
         f'{counted(len(bags.paths), "bag")}, {counted(len(model.labels), "label")}')
    return 0


def _train_selected(args: argparse.Namespace, bags: BagSet, settings: dict[str, Any]) -> int:
    """Let all samples decide on the model."""
    if args.model or args.engine != 'local':
        raise ParameterError('--select makes a new model in this process; leave out --model and '
                             '--engine')
    samples = CollectedSamples.of(bags)
    model = samples.model(settings, settings.get('hidden_size', SIZES[-1])
                          if args.hidden_size else SIZES[-1])
    model.save(args.output)
    for note in samples.notes:
        show(f'note: {note}')
    for cause, count in sorted(samples.rejects.items()):
        show(f'rejected {count}: {cause}')
    chosen = model.options
    show(f'chosen: {chosen.activation}, {chosen.hidden_size} hidden, ridge {chosen.ridge:g}, '
         f'scaling {chosen.scaling}')
    show(f'{args.output}: {counted(model.samples, "sample")} from '
         f'{counted(len(bags.paths), "bag")}, {counted(len(model.labels), "label")}')
    return 0
