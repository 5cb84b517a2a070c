# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc evaluate`: prequential evaluation of models on bags."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.cli.options import (
    add_bag_arguments,
    add_model_arguments,
    bag_set,
    check_folder_of,
    check_no_settings,
    load_model,
    model_settings,
    parse_settings,
    real,
)
from proemlc_ros.cli.terminal import ProgressBar, show, show_notes, sparkline, text_table
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection.search import SIZES
from proemlc_ros.errors import BagError, ParameterError
from proemlc_ros.evaluation.annotation_stream import causes_of
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation, evaluate_bags
from proemlc_ros.evaluation.report import (
    METRICS,
    EvaluationResult,
    PredictionFile,
    comparison_table,
    label_table,
    results_page,
    today,
    warning,
    write_csv,
    write_json,
)
from proemlc_ros.evaluation.taught_samples import common_settings, open_journal, pictures_by_time
from proemlc_ros.evaluation.training import CollectedSamples

# Not 1 (an error) and not 2 (wrong arguments): the evaluation ran, and a limit was not met.
_LIMIT_NOT_MET = 3


class _Run(NamedTuple):
    """A model to evaluate, and what makes another one of its settings; None: nothing does."""

    name: str
    model: ProEMLC
    factory: LearnerFactory | None = None
    learnt: frozenset[bytes] = frozenset()


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_evaluate)
    parser.description = (
        'Plays bags (rosbag2 folders, .db3 or .mcap files, journals) and tables (.csv, .arff, '
        '.npz) to a model with the '
        'rules of the node: each annotation is first compared with the prediction, then learnt.')
    parser.add_argument('bags', nargs='+', type=Path, metavar='BAG',
                        help='a bag, or a folder of pictures; in the order to play')
    parser.add_argument('--model', type=Path, metavar='FILE', help='start from a saved model')
    parser.add_argument('--train', nargs='+', type=Path, default=[], metavar='BAG',
                        help='bags or tables to learn first, by themselves; then BAG is predicted '
                        'only, as a test set')
    parser.add_argument('--select', action='store_true',
                        help='with --train: choose layer, settings and decision rule from these, '
                        'too')
    parser.add_argument('--frozen', action='store_true', help='predict only, learn nothing')
    parser.add_argument('--compare', nargs='+', default=[], metavar='MODEL',
                        help='further runs, each a model file or NAME=VALUE,... settings')
    outputs = parser.add_argument_group('output')
    outputs.add_argument('--json', type=Path, metavar='FILE', help='write all results as JSON')
    outputs.add_argument('--csv', type=Path, metavar='FILE', help='write a line per label as CSV')
    outputs.add_argument('--html', type=Path, metavar='FILE', help='write a report with charts')
    outputs.add_argument('--predictions', type=Path, metavar='FILE',
                         help='write the prediction for every feature vector as CSV')
    outputs.add_argument('--fail-above', action='append', default=[], metavar='METRIC=VALUE',
                         help=f'end with code {_LIMIT_NOT_MET} if a metric is above, such as '
                              'hamming=0.1; may be repeated')
    outputs.add_argument('--fail-below', action='append', default=[], metavar='METRIC=VALUE',
                         help='likewise if a metric is below, such as f1=0.8')
    add_model_arguments(parser)
    add_bag_arguments(parser)


def _run_evaluate(args: argparse.Namespace) -> int:
    """Evaluate and return the exit code."""
    check_folder_of(args.json, args.csv, args.html, args.predictions)
    above, below = _limits(args.fail_above), _limits(args.fail_below)
    bags = bag_set(args, args.bags, parallel=True)
    own, notes = common_settings(args.bags) if args.model is None else ({}, [])
    show_notes(notes)
    models = [_first_model(args, own),
              *(_compared_model(text, args, own) for text in args.compare)]
    results = []
    # Counting opens every bag once more: only where a bar is shown.
    total = bags.count_messages() if sys.stderr.isatty() else 0
    for number, (name, model, factory, learnt) in enumerate(models):
        with ProgressBar(total, name) as bar, ExitStack() as stack:
            write = None
            if args.predictions and number == 0:
                write = stack.enter_context(PredictionFile(args.predictions)).write
            learning = not args.frozen and not args.train
            evaluation = PrequentialEvaluation(model, learning, bags.rules, write, factory, learnt)
            results.append(evaluate_bags(bags, evaluation, name, bar.advance))
    _show(results)
    _write(args, results)
    _check_compared(results)
    return _exit_code(results, above, below)


def _first_model(args: argparse.Namespace, own: dict[str, Any]) -> _Run:
    settings = model_settings(args)
    if args.train:
        return _trained_model(args, {**own, **settings})
    if args.select:
        raise ParameterError('--select needs --train: bags or tables to choose from')
    if args.model is None:
        name = _settings_name(settings) if settings else (
            'settings of the journal' if own else 'default')
        return _untaught(name, {**own, **settings})
    check_no_settings(settings)
    return _saved(args.model)


def _trained_model(args: argparse.Namespace, settings: dict[str, Any]) -> _Run:
    """Return a model that has learnt the training set of a pair."""
    if args.model is not None:
        raise ParameterError('--train makes a new model; leave out --model, or --train')
    samples = CollectedSamples.of(bag_set(args, args.train))
    names = ', '.join(path.name for path in args.train)
    if args.select:
        return _Run(f'selected on {names}', samples.model(settings, SIZES[-1]),
                    learnt=samples.digests())
    factory = LearnerFactory(settings)
    model = factory.fitted(factory(), samples.extractor)
    model.learn(**samples.arguments())
    model.calibrate(**samples.arguments())
    return _Run(f'trained on {names}', model, learnt=samples.digests())


def _compared_model(text: str, args: argparse.Namespace, own: dict[str, Any]) -> _Run:
    if '=' not in text or Path(text).exists():
        return _saved(Path(text))
    return _untaught(text, {**own, **model_settings(args), **parse_settings(text)})


def _saved(path: Path) -> _Run:
    """Return a run of a saved model; the journal beside it tells what it has learnt."""
    model, learnt = load_model(path), frozenset[bytes]()
    if model.samples and open_journal(path.parent) is not None:
        learnt = CollectedSamples.of(BagSet([path.parent])).digests()
    return _Run(path.name, model, learnt=learnt)


def _untaught(name: str, settings: dict[str, Any]) -> _Run:
    """Return a run of a new model; what nobody has set follows the features, as in the node."""
    factory = LearnerFactory(settings)
    return _Run(name, factory(), factory)


def _settings_name(settings: dict[str, Any]) -> str:
    return ','.join(f'{name}={value}' for name, value in settings.items())


def _limits(texts: list[str]) -> dict[str, float]:
    limits = {}
    for text in texts:
        name, _, value = text.partition('=')
        if name not in METRICS:
            raise ParameterError(f'unknown metric {name!r}; choose from {", ".join(METRICS)}')
        try:
            limits[name] = real()(value)
        except argparse.ArgumentTypeError:
            raise ParameterError(f'{text!r} is not METRIC=VALUE') from None
    return limits


def _show(results: list[EvaluationResult]) -> None:
    show(text_table(*comparison_table(results)))
    for result in results:
        if result.learnt_before:
            show(f'\nWARNING: {warning(result)}')
        losses = [point.loss for point in result.curve]
        show(f'\n{result.name}: Hamming loss over the stream, highest '
             f'{max(losses, default=0.0):.3f}')
        show(f'  {sparkline(losses)}')
        show(text_table(*label_table(result)))
        show_notes(result.notes, result.rejects)


def _write(args: argparse.Namespace, results: list[EvaluationResult]) -> None:
    bags = [str(bag) for bag in args.bags]
    if args.json:
        write_json(args.json, results, bags)
    if args.csv:
        write_csv(args.csv, results)
    if args.html:
        times = {one.time for result in results for one in result.mistakes}
        results_page(results, [Path(bag).name for bag in bags], today(),
                     pictures_by_time(args.bags, times)).write(args.html)


def _check_compared(results: list[EvaluationResult]) -> None:
    # A table of dashes and exit code 0 would pass for a success, in CI above all.
    for result in results:
        if result.rejects and not result.samples:
            raise BagError(f'{result.name}: nothing could be compared, all annotations were '
                           f'rejected ({causes_of(result.rejects)})')


def _exit_code(results: list[EvaluationResult], above: dict[str, float],
               below: dict[str, float]) -> int:
    failed = False
    for result in results:
        for limits, sign, word in ((above, 1, 'above'), (below, -1, 'below')):
            for name, limit in limits.items():
                value = result.metrics.get(name)
                if value is None or sign * (value - limit) > 0:
                    failed = True
                    shown = 'not measured' if value is None else f'{value:.4f}'
                    show(f'FAILED {result.name}: {name} is {shown}, {word} {limit:g}')
    return _LIMIT_NOT_MET if failed else 0


COMMANDS = {'evaluate': _add_evaluate}
