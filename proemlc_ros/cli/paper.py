# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc paper`: the experiments of the method's paper, and the same on data of one's own."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from proemlc_ros.cli.label_columns import label_columns
from proemlc_ros.cli.number_types import at_least_one, seed
from proemlc_ros.cli.progress import ProgressBar
from proemlc_ros.errors import DataSetError, ParameterError
from proemlc_ros.experiments.baselines import MODULES, rival_class
from proemlc_ros.experiments.experiment import OURS, PAPER, ExperimentPlan, run_plan
from proemlc_ros.experiments.output import write_output
from proemlc_ros.experiments.published import PATTERNS
from proemlc_ros.experiments.sources import Source, own_source

_QUICK_METHODS = ('PCT', 'ML-kNN', 'ELM')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Runs the paper's protocol - labels introduced group by group, learnt one sample at a "
        'time, cross-validated - and writes its tables and figures with ours and, where '
        'scikit-learn is installed, every rival beside it. A run that was interrupted goes on '
        'where it stopped.')
    parser.add_argument('files', nargs='*', type=Path, metavar='FILE',
                        help="data sets of one's own (.arff or .csv) instead of the paper's")
    data = parser.add_argument_group('data')
    data.add_argument('--data', type=Path, default=_default_folder(), metavar='DIR',
                      help="folder with the paper's data sets (default: %(default)s)")
    data.add_argument('--sets', default=','.join(PATTERNS), metavar='NAMES',
                      help='which of them, separated by commas (default: %(default)s)')
    data.add_argument('--fetch', action='store_true', help='get missing ones from OpenML first')
    data.add_argument('--labels', metavar='NAMES|N', help='label columns of FILE: names separated '
                      'by commas, or how many of the last (negative: first) columns')
    data.add_argument('--pattern', action='append', default=[], metavar='N+N',
                      help='label introduction pattern for FILE, such as 4+1+1; may be repeated')
    runs = parser.add_argument_group('runs')
    runs.add_argument('--methods', default='all', metavar='NAMES',
                      help=f'"all", "ours", or some of: {", ".join(MODULES)}')
    runs.add_argument('--folds', type=at_least_one, default=10, metavar='N',
                      help='of the cross-validation (default: %(default)s)')
    runs.add_argument('--rival-folds', type=at_least_one, metavar='N',
                      help='run rivals on the first N folds only')
    runs.add_argument('--chunk', type=at_least_one, default=1, metavar='N',
                      help='samples learnt at once (default: one by one)')
    runs.add_argument('--seed', type=seed, default=0, metavar='N',
                      help='of folds, streams and methods (default: %(default)s)')
    runs.add_argument('--jobs', type=at_least_one, default=1, metavar='N', help='processes to use')
    runs.add_argument('--quick', action='store_true',
                      help='a part of the data, two folds, small networks: under a minute')
    output = parser.add_argument_group('output')
    output.add_argument('--out', type=Path, default=Path('paper-results'), metavar='DIR',
                        help='for results and figures (default: %(default)s)')
    output.add_argument('--page', type=Path, metavar='FILE',
                        help='where to write the page of results (default: DIR/results.md)')
    output.add_argument('--finished', action='store_true',
                        help='run nothing; write the page of the runs that are in DIR')
    output.add_argument('--note', default='', metavar='TEXT',
                        help='what a reader should know about this run, for the page')


def run(args: argparse.Namespace) -> int:
    """Run the experiments and return the exit code."""
    plan = _plan(args)
    sets = [source.load(plan.quick) for source in plan.sources]
    tasks = len(plan.tasks())
    with ProgressBar(tasks, f'{tasks} runs') as bar:
        records = run_plan(plan, args.out / 'runs.jsonl', args.jobs, lambda key: bar.advance(),
                           args.finished)
    if not records:
        raise DataSetError(f'{args.out / "runs.jsonl"} holds no run of this experiment; '
                           'leave --finished out to run it')
    command = shlex.join(['proemlc', 'paper', *(
        word for word in ('--quick',) if args.quick)])
    page = write_output(records, sets, args.out, args.page, command, not args.quick, args.note)
    print(page.read_text(encoding='utf-8').partition('## Table III')[0])
    print(f'Written: {page}, {args.out / "folds.csv"}, {args.out / "results.json"}')
    return 0


def _plan(args: argparse.Namespace) -> ExperimentPlan:
    if args.folds < 2:
        raise ParameterError(f'--folds is {args.folds}; at least 2 are needed')
    if args.files:
        sources = tuple(own_source(path, label_columns(args.labels), tuple(args.pattern))
                        for path in args.files)
    else:
        sources = _paper_sources(args)
    methods = _methods(args.methods, args.quick)
    folds = min(args.folds, 2) if args.quick else args.folds
    return ExperimentPlan(sources, methods, folds, args.seed, args.chunk, args.quick, args.rival_folds)


def _paper_sources(args: argparse.Namespace) -> tuple[Source, ...]:
    names = [name.strip().lower() for name in args.sets.split(',')]
    if args.quick and args.sets == ','.join(PATTERNS):
        names = ['scene', 'medical']
    for name in names:
        if name not in PATTERNS:
            raise DataSetError(f'{name!r} is not one of the data sets of the paper '
                               f'({", ".join(PATTERNS)}); give a file of your own by its path')
    if args.fetch:
        from proemlc_ros.experiments.fetching import fetch_missing
        fetch_missing(args.data, names, lambda text: print(text, file=sys.stderr))
    return tuple(Source(name, args.data, PATTERNS[name]) for name in names)


def _methods(text: str, quick: bool) -> tuple[str, ...]:
    if text == 'ours':
        return (OURS, PAPER)
    names = list(_QUICK_METHODS if quick else MODULES)
    if text != 'all':
        names = [name.strip() for name in text.split(',')]
        for name in names:
            if name not in MODULES:
                raise ParameterError(f'there is no method {name!r}; choose among: '
                                     f'ours, {", ".join(MODULES)}')
    for name in names:
        rival_class(name)  # says at once, not after hours, what is missing
    return (OURS, PAPER, *names)


def _default_folder() -> Path:
    found = os.environ.get('PROEMLC_DATA')
    return Path(found) / 'datasets' if found else Path('../shared/datasets')
