# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc select`: the settings that suit a data set, by exact leave-one-out."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from proemlc_ros.cli.arguments import check_folder_of, seed
from proemlc_ros.cli.options import add_bag_arguments, bag_set
from proemlc_ros.cli.table_bags import is_table, read_noted_table
from proemlc_ros.cli.terminal import show
from proemlc_ros.core.selection import Selection
from proemlc_ros.core.selection.search import SIZES, select_model
from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.collected_samples import CollectedSamples
from proemlc_ros.evaluation.report import Page, Series, line_chart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Selects hidden neurons, ridge, scaling, direct links and threshold rule for a data set '
        'in one pass, and prints training and leave-one-out error against hidden size.')
    parser.add_argument('files', nargs='+', type=Path, metavar='FILE',
                        help='a table (.csv, .arff, .npz), or bags and journals')
    parser.add_argument('--sizes', default=','.join(map(str, SIZES)), metavar='N,N,...',
                        help='hidden sizes to try (default: %(default)s)')
    parser.add_argument('--samples', type=int, metavar='N',
                        help='use the first N samples only (default: all)')
    parser.add_argument('--seed', type=seed, default=0, metavar='N',
                        help='seed of the hidden layer (default: %(default)s)')
    add_bag_arguments(parser)
    output = parser.add_argument_group('output')
    output.add_argument('--plot', type=Path, metavar='FILE',
                        help='draw the curve: a picture (.svg) or a page (.html)')
    output.add_argument('--json', type=Path, metavar='FILE',
                        help="write the selected settings, by the names of the node's parameters")


def run(args: argparse.Namespace) -> int:
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
        samples = CollectedSamples.of(bag_set(args, args.files))
        for note in samples.notes:
            show(f'note: {note}')
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
