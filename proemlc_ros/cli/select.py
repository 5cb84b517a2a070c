# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc select`: the settings that suit a data set, by exact leave-one-out."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from proemlc_ros.cli.arguments import check_folder_of, seed
from proemlc_ros.cli.tables import add_label_columns, read_table
from proemlc_ros.cli.terminal import show
from proemlc_ros.core.selection import Selection
from proemlc_ros.core.selection.search import SIZES, select_model
from proemlc_ros.errors import ParameterError
from proemlc_ros.evaluation.report import Page, Series, line_chart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Selects hidden neurons, ridge, scaling, direct links and threshold rule for a data set '
        'in one pass, and prints training and leave-one-out error against hidden size.')
    parser.add_argument('file', type=Path, metavar='FILE', help='data set, .csv or .arff')
    add_label_columns(parser, 'FILE')
    parser.add_argument('--sizes', default=','.join(map(str, SIZES)), metavar='N,N,...',
                        help='hidden sizes to try (default: %(default)s)')
    parser.add_argument('--samples', type=int, metavar='N',
                        help='use the first N samples only (default: all)')
    parser.add_argument('--seed', type=seed, default=0, metavar='N',
                        help='seed of the hidden layer (default: %(default)s)')
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
    data = read_table(args.file, args.labels)
    if args.samples is not None:
        if not 2 <= args.samples <= len(data):
            raise ParameterError(f'--samples is {args.samples}; {args.file} has {len(data)}, '
                                 'and at least 2 are needed')
        data = data.subset(np.arange(args.samples))
    selected = select_model(data.X, data.Y, sizes=sizes, seed=args.seed)
    show(selected.text())
    if args.json:
        args.json.write_text(json.dumps(selected.keywords(), indent=2) + '\n', encoding='utf-8')
    if args.plot:
        _plot(selected, data.name, args.plot)
    return 0


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
