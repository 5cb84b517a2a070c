# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc paper`: the experiments of the method's paper, and the same on data of one's own."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from proemlc_ros.cli.inputs import add_label_columns
from proemlc_ros.cli.options import whole
from proemlc_ros.cli.terminal import ProgressBar, show
from proemlc_ros.errors import DataSetError, ParameterError
from proemlc_ros.experiments.baselines import BASELINES, baseline_class
from proemlc_ros.experiments.datasets import Source, fetch_missing, own_source
from proemlc_ros.experiments.experiment import (
    OURS,
    OURS_BY_DEFAULT,
    PAPER,
    ExperimentPlan,
    run_plan,
)
from proemlc_ros.experiments.page import PageOptions, write_results
from proemlc_ros.experiments.paper import PATTERNS

_QUICK_METHODS = ('PCT', 'ML-kNN', 'ELM')
_OUR_METHODS = (OURS, OURS_BY_DEFAULT, PAPER)


def _add_paper(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_paper)
    parser.description = (
        "Runs the protocol of the method's paper (labels introduced group by group, learnt one "
        'sample at a time, cross-validated) and writes its tables and figures with our learner '
        "and the paper's baselines. An interrupted run is resumed. The "
        "baselines need scikit-learn: pip install 'proemlc_ros[experiments]'.")
    parser.add_argument('files', nargs='*', type=Path, metavar='FILE',
                        help="your own data sets (.csv or .arff) instead of the paper's")
    _add_data(parser.add_argument_group('data'))
    _add_runs(parser.add_argument_group('runs'))
    output = parser.add_argument_group('output')
    output.add_argument('--out', type=Path, default=Path('paper-results'), metavar='DIR',
                        help='folder for results and figures (default: %(default)s)')
    output.add_argument('--page', type=Path, metavar='FILE',
                        help='page of results; figures go into the folder results beside it '
                             '(default: DIR/results.md)')
    output.add_argument('--keep', type=Path, metavar='FILE',
                        help='results/summary.csv of an earlier run: its rows stay on the page, '
                             'this run adds the rows that it lacks')
    output.add_argument('--finished', action='store_true',
                        help='run nothing; write the page of the runs that are in DIR')
    output.add_argument('--note', default='', metavar='TEXT',
                        help='a remark for the readers of the page')


def _add_data(data: argparse._ArgumentGroup) -> None:
    data.add_argument('--data', type=Path, default=_default_folder(), metavar='DIR',
                      help="folder with the paper's data sets (default: %(default)s)")
    data.add_argument('--sets', default=','.join(PATTERNS), metavar='NAMES',
                      help="the paper's data sets to use, separated by commas "
                           '(default: %(default)s)')
    data.add_argument('--fetch', action='store_true',
                      help='download missing data sets from OpenML')
    add_label_columns(data, 'FILE')
    data.add_argument('--pattern', action='append', default=[], metavar='N+N',
                      help='label introduction pattern for FILE, such as 4+1+1; may be repeated '
                           '(default: the last two labels one by one)')


def _add_runs(runs: argparse._ArgumentGroup) -> None:
    runs.add_argument('--methods', default='all', metavar='NAMES',
                      help='"all", "ours" (no baselines), or baselines to run beside ours, '
                           f'separated by commas: {", ".join(BASELINES)} (default: %(default)s)')
    runs.add_argument('--folds', type=whole(1), default=10, metavar='N',
                      help='folds of the cross-validation (default: %(default)s)')
    runs.add_argument('--baseline-folds', '--rival-folds', type=whole(1), metavar='N',
                      help='run baselines on the first N folds only (default: all)')
    runs.add_argument('--chunk', type=whole(1), default=1, metavar='N',
                      help='samples per update (default: %(default)s)')
    runs.add_argument('--seed', type=whole(0), default=0, metavar='N',
                      help='seed of folds, streams and methods (default: %(default)s)')
    runs.add_argument('--jobs', type=whole(1), default=1, metavar='N',
                      help='processes (default: %(default)s)')
    runs.add_argument('--quick', action='store_true',
                      help='part of the data, two folds, small networks: under a minute')


def _run_paper(args: argparse.Namespace) -> int:
    """Run the experiments; return the exit code, 1 where a run failed."""
    plan = _plan(args)
    sets = [source.load(plan.quick) for source in plan.sources]
    tasks = len(plan.tasks())
    with ProgressBar(tasks, f'{tasks} runs') as bar:
        results = run_plan(plan, args.out / 'runs.jsonl', args.jobs, lambda key: bar.advance(),
                           args.finished)
    for task, error in results.failures.items():
        show(f'proemlc: {task.method} failed on fold {task.fold} of {task.source.name}: {error}',
             stream=sys.stderr)
    if not results.records:
        raise DataSetError(f'{args.out / "runs.jsonl"} holds no run of this experiment' + (
            '; leave --finished out to run it' if args.finished else ''))
    command = shlex.join(['proemlc', 'paper', *(word for word in ('--quick',) if args.quick)])
    page = write_results(results, sets, PageOptions(
        args.out, args.page, command, not args.quick, args.note, args.keep))
    show(page.read_text(encoding='utf-8').partition('## Table III')[0])
    show(f'Written: {page}, {args.out / "folds.csv"}, {args.out / "results.json"}')
    return 1 if results.failures else 0


def _plan(args: argparse.Namespace) -> ExperimentPlan:
    if args.folds < 2:
        raise ParameterError(f'--folds is {args.folds}; at least 2 are needed')
    if args.files:
        sources = tuple(own_source(path, args.labels, tuple(args.pattern)) for path in args.files)
    else:
        sources = _paper_sources(args)
    methods = _methods(args.methods, args.quick)
    folds = min(args.folds, 2) if args.quick else args.folds
    return ExperimentPlan(sources, methods, folds, args.seed, args.chunk, args.quick,
                          args.baseline_folds)


def _paper_sources(args: argparse.Namespace) -> tuple[Source, ...]:
    names = [name.strip().lower() for name in args.sets.split(',')]
    if args.quick and args.sets == ','.join(PATTERNS):
        names = ['scene', 'medical']
    for name in names:
        if name not in PATTERNS:
            raise DataSetError(f'{name!r} is not one of the data sets of the paper '
                               f'({", ".join(PATTERNS)}); give a file of your own by its path')
    if args.fetch:
        fetch_missing(args.data, names, lambda text: show(text, stream=sys.stderr))
    return tuple(Source(name, args.data, PATTERNS[name]) for name in names)


def _methods(text: str, quick: bool) -> tuple[str, ...]:
    if text == 'ours':
        return _OUR_METHODS
    names = list(_QUICK_METHODS if quick else BASELINES)
    if text != 'all':
        names = [name.strip() for name in text.split(',')]
        for name in names:
            if name not in BASELINES:
                raise ParameterError(f'there is no method {name!r}; choose from: '
                                     f'all, ours, {", ".join(BASELINES)}')
    for name in names:
        baseline_class(name)  # says what is missing now, not after hours
    return (*_OUR_METHODS, *names)


def _default_folder() -> Path:
    found = os.environ.get('PROEMLC_DATA')
    return Path(found) / 'datasets' if found else Path('../shared/datasets')


COMMANDS = {'paper': _add_paper}
