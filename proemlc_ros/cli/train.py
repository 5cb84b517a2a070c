# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc train`, `select` and `merge`: models from bags, journals, tables and other models."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.cli.inputs import is_table, read_noted_table
from proemlc_ros.cli.options import (
    add_bag_arguments,
    add_model_arguments,
    bag_set,
    check_folder_of,
    check_no_settings,
    load_model,
    model_settings,
    whole,
)
from proemlc_ros.cli.terminal import ProgressBar, counted, show, show_notes
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection import Selection
from proemlc_ros.core.selection.search import SIZES, select_model
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError, ParameterError
from proemlc_ros.evaluation.annotation_stream import causes_of
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.charts import Series, line_chart
from proemlc_ros.evaluation.report import Page
from proemlc_ros.evaluation.taught_samples import common_settings
from proemlc_ros.evaluation.training import CollectedSamples, DaskBackend, train
from proemlc_ros.journal.journal import JOURNAL
from proemlc_ros.label_text import twin_notes

# A model, notes about its bags, and numbers of what was rejected by cause.
_Made = tuple[ProEMLC, list[str], Mapping[str, int]]
# Default number of processes of a Dask cluster on this machine.
_WORKERS = 2


def _add_train(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_train)
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
    parser.add_argument('--workers', type=whole(1), metavar='N',
                        help='number of processes on this machine for --engine dask '
                        f'(default: {_WORKERS})')
    add_model_arguments(parser)
    add_bag_arguments(parser)


def _run_train(args: argparse.Namespace) -> int:
    """Train, save, and return the exit code."""
    check_folder_of(args.output)
    settings = model_settings(args)
    start = load_model(args.model) if args.model else None
    if start is not None:
        check_no_settings(settings)
    else:
        own, notes = common_settings(args.bags)
        settings = {**own, **settings}
        show_notes(notes)
    if args.engine != 'dask' and (args.scheduler or args.workers):
        raise ParameterError('--scheduler and --workers need --engine dask')
    # Workers on other machines do not share the folder in which this command was started.
    bags = bag_set(args, [bag.resolve() for bag in args.bags], args.engine == 'local')
    model, notes, rejects = (_selected if args.select else _trained)(args, bags, settings, start)
    model.save(args.output)
    show_notes([*notes, *twin_notes(model.labels)], rejects)
    if args.select:
        chosen = model.options
        show(f'chosen: {chosen.activation}, {chosen.hidden_size} hidden, ridge {chosen.ridge:g}, '
             f'scaling {chosen.scaling}')
    show(f'{args.output}: {counted(model.samples, "sample")} from '
         f'{counted(len(bags.paths), "bag")}, {counted(len(model.labels), "label")}')
    return 0


def _trained(args: argparse.Namespace, bags: BagSet, settings: dict[str, Any],
             start: ProEMLC | None) -> _Made:
    """Return a model of the given settings, or `start`, that has learnt the bags."""
    if args.engine == 'local':
        with _bar(bags) as bar:
            model, total = train(replace(bags, progress=bar.advance), settings, start)
    else:
        with ProgressBar(len(bags.paths), 'bags') as bar, closing(DaskBackend(
                args.scheduler, args.workers or _WORKERS, bar.advance)) as backend:
            model, total = train(bags, settings, start, backend)
    return model, total.notes, total.rejects


def _selected(args: argparse.Namespace, bags: BagSet, settings: dict[str, Any],
              start: ProEMLC | None) -> _Made:
    """Return the model that all samples decide on."""
    if start is not None or args.engine != 'local':
        raise ParameterError('--select makes a new model in this process; leave out --model and '
                             '--engine')
    samples = _collected(bags)
    most = settings.get('hidden_size', SIZES[-1]) if args.hidden_size else SIZES[-1]
    return samples.model(settings, most), samples.notes, samples.rejects


def _bar(bags: BagSet) -> ProgressBar:
    # Counting opens every bag once more: only where a bar is shown.
    return ProgressBar(bags.count_messages() if sys.stderr.isatty() else 0, 'messages')


def _collected(bags: BagSet) -> CollectedSamples:
    with _bar(bags) as bar:
        return CollectedSamples.of(replace(bags, progress=bar.advance))


def _add_select(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_select)
    parser.description = (
        'Selects hidden neurons, ridge, scaling, direct links and threshold rule for a data set '
        'in one pass, and prints training and leave-one-out error against hidden size.')
    parser.add_argument('files', nargs='+', type=Path, metavar='FILE',
                        help='a table (.csv, .arff, .npz), or bags and journals')
    parser.add_argument('--sizes', default=','.join(map(str, SIZES)), metavar='N,N,...',
                        help='hidden sizes to try (default: %(default)s)')
    parser.add_argument('--samples', type=int, metavar='N',
                        help='use the first N samples only (default: all)')
    parser.add_argument('--seed', type=whole(0), default=0, metavar='N',
                        help='seed of the hidden layer (default: %(default)s)')
    add_bag_arguments(parser)
    output = parser.add_argument_group('output')
    output.add_argument('--plot', type=Path, metavar='FILE',
                        help='draw the curve: a picture (.svg) or a page (.html)')
    output.add_argument('--json', type=Path, metavar='FILE',
                        help="write the selected settings, by the names of the node's parameters")


def _run_select(args: argparse.Namespace) -> int:
    """Select, print and write; return the exit code."""
    sizes = _sizes(args.sizes)
    check_folder_of(args.plot, args.json)
    if args.plot and args.plot.suffix.lower() not in ('.svg', '.html'):
        raise ParameterError(f'--plot {args.plot} is neither .svg nor .html')
    name, selected = _select(args, sizes)
    show(selected.text())
    if args.json:
        args.json.write_text(json.dumps(selected.keywords(), indent=2) + '\n', encoding='utf-8')
    if args.plot:
        _plot(selected, name, args.plot)
    return 0


def _select(args: argparse.Namespace, sizes: list[int]) -> tuple[str, Selection]:
    """Return the name of the data and the selection."""
    if len(args.files) > 1 or not is_table(args.files[0]):
        # A stream: bursts of nearly equal frames count once.
        samples = _collected(bag_set(args, args.files))
        show_notes(samples.notes)
        samples.annotations = samples.annotations[:args.samples]
        return ', '.join(path.name for path in args.files), samples.selection(max(sizes))
    file = args.files[0]
    data = read_noted_table(file, args.labels)
    if args.samples is not None:
        if not 2 <= args.samples <= len(data):
            raise ParameterError(f'--samples is {args.samples}; {file} has {len(data)}, '
                                 'and at least 2 are needed')
        data = data.subset(np.arange(args.samples))
    return data.name, select_model(data.X, data.Y, sizes=sizes, seed=args.seed)


def _sizes(text: str) -> list[int]:
    try:
        sizes = sorted({int(part) for part in text.split(',')})
    except ValueError:
        raise ParameterError(f'--sizes {text!r} is not a list of integers like 50,100,200'
                             ) from None
    if sizes[0] < 1:
        raise ParameterError(f'--sizes has {sizes[0]}; a layer has at least one neuron')
    return sizes


def _plot(selected: Selection, name: str, path: Path) -> None:
    curve = selected.curve()
    x = [point.options.hidden_size for point in curve]
    svg = line_chart(
        [Series('training', x, [point.training_hamming for point in curve]),
         Series('leave-one-out', x, [point.left_out_hamming for point in curve])],
        f'{name}: error against the size of the hidden layer', 'hidden neurons', 'Hamming loss')
    if path.suffix.lower() == '.svg':
        path.write_text(svg, encoding='utf-8')
    else:
        page = Page(f'Model selection for {name}', selected.summary())
        page.figure(svg, 'Hamming loss with the samples learnt, and with each left out')
        page.write(path)


def _add_merge(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_merge)
    parser.description = (
        'Merges models that have the same hidden layer (settings, seed and width; layers drawn '
        'from samples: started from one file) into one that has learnt what all of them have. '
        'Labels are joined by name; a label that one model does not know counts as absent there. '
        'Journals, or models with their journals beside them whose layers differ, give the model '
        'that all their samples decide on together, as a renewal of the node does.')
    parser.add_argument('models', nargs='+', type=Path, metavar='MODEL',
                        help='.npz files, or journals, or model directories')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='FILE',
                        help='model file to write (.npz)')


def _run_merge(args: argparse.Namespace) -> int:
    """Merge and return the exit code."""
    if any(path.is_dir() for path in args.models):
        return _merge_journals(args, [
            path if path.is_dir() else path.parent for path in args.models])
    try:
        return _merge_models(args)
    except HiddenLayerMismatchError:
        journals = [path.parent / JOURNAL for path in args.models]
        if len(set(journals)) < len(journals) or not all(path.is_dir() for path in journals):
            raise
        show('note: the hidden layers differ; the journals beside the models are used')
        return _merge_journals(args, journals)


def _merge_models(args: argparse.Namespace) -> int:
    merged = load_model(args.models[0])
    for path in args.models[1:]:
        other = load_model(path)
        _check_same_extractor(merged, other, path)
        try:
            merged.merge(other)
        except MergeError as error:
            # The learner speaks to a program.
            text = str(error).replace('call fix_layer()', 'merge the journals instead')
            raise type(error)(f'{path}: {text}') from error
    # Undo stack, journal position and the like belong to the node that saved the first file.
    show_notes(twin_notes(merged.labels))
    merged.save(args.output, extra={'extractor': merged.extra.get('extractor', '')})
    show(f'{args.output}: {counted(len(args.models), "model")}, '
         f'{counted(merged.samples, "sample")}, {counted(len(merged.labels), "label")}')
    return 0


def _merge_journals(args: argparse.Namespace, journals: list[Path]) -> int:
    """Write the model that the samples of all journals decide on."""
    samples = _collected(BagSet(journals))
    if samples.rejects:
        raise MergeError('not all samples of the journals fit together: '
                         f'{causes_of(samples.rejects)}')
    model = samples.model({}, SIZES[-1])
    show_notes(twin_notes(model.labels))
    model.save(args.output)
    show(f'{args.output}: {counted(len(journals), "journal")}, '
         f'{counted(model.samples, "sample")}, {counted(len(model.labels), "label")}')
    return 0


def _check_same_extractor(merged: ProEMLC, other: ProEMLC, path: Path) -> None:
    """Check that a model has learnt from the features of the same extractor.

    Raises:
        MergeError: Both name their extractor, and they differ.
    """
    ours, theirs = merged.extra.get('extractor', ''), other.extra.get('extractor', '')
    if ours and theirs and ours != theirs:
        raise MergeError(f'{path}: has learnt from features made by {theirs!r}, the models before '
                         f'it from {ours!r}; they cannot be merged')
    merged.extra['extractor'] = ours or theirs


COMMANDS = {'train': _add_train, 'select': _add_select, 'merge': _add_merge}
