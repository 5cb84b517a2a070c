# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc info`: what is in a model, a recording or a journal."""

from __future__ import annotations

import argparse
import os
from datetime import datetime, timezone
from pathlib import Path

from proemlc_ros.bags.history import LabelHistory, label_history
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.cli.model_options import load_model
from proemlc_ros.cli.wording import counted
from proemlc_ros.conversions import EVENT_TYPE
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.report.text import sparkline, text_table

_BAR = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Tells what is in a model file (.npz), a recording (rosbag2 folder, .db3 or .mcap) or the '
        'journal of a node, with a picture of the labels over time.')
    parser.add_argument('paths', nargs='+', type=Path, metavar='PATH',
                        help='a model, a recording or a journal')
    parser.add_argument('--strict', action='store_true',
                        help='refuse damaged recordings instead of showing what is readable')


def run(args: argparse.Namespace) -> int:
    """Show each path and return the exit code."""
    for number, path in enumerate(args.paths):
        if number:
            print()
        if path.suffix == '.npz':
            show_model(path)
        else:
            show_bag(path, best_effort=not args.strict)
    return 0


def show_model(path: Path) -> None:
    """Print what is in a model file."""
    model = load_model(path)
    options = model.options.as_dict()
    print(f'{path}: model, {os.path.getsize(path):,} bytes')
    extractor = model.extra.get('extractor') or 'not stated'
    print(f'  {counted(model.samples, "sample")} learnt of {model.width or "unknown"} values, '
          f'made by: {extractor}')
    print('  ' + ', '.join(f'{name} {value}' for name, value in options.items()
                           if value is not None))
    counts = model.counts
    highest = max(counts, default=0) or 1
    rows = [[label, count, '█' * round(_BAR * count / highest)]
            for label, count in zip(model.labels, counts, strict=True)]
    print(text_table(['label', 'samples', ''], rows) if rows else '  no labels yet')


def show_bag(path: Path, best_effort: bool = True) -> None:
    """Print what is in a recording; a damaged one as far as it is readable.

    Raises:
        BagError: It cannot be read.

    """
    with BagReader(path, best_effort) as bag:
        duration = (bag.end - bag.start) / 1e9
        kind = 'journal' if any(topic.type == EVENT_TYPE for topic in bag.topics) else 'recording'
        print(f'{path}: {kind}, {counted(len(bag.topics), "topic")}, '
              f'{counted(bag.count, "message")}, {duration:,.3f} s')
        if bag.count:
            print(f'  from {_date(bag.start)} to {_date(bag.end)}')
        print(text_table(['topic', 'type', 'messages', 'readable'], [
            [topic.name, topic.type, topic.count, 'yes' if topic.readable else 'no']
            for topic in bag.topics]))
        try:
            history = label_history(bag)
        except BagError as error:
            bag.notes.append(str(error))
        else:
            show_history(history)
        for note in bag.notes:
            print(f'note: {note}')


def show_history(history: LabelHistory) -> None:
    """Print the labels over the length of a recording."""
    if history.annotations:
        print(f'\n{counted(history.annotations, "annotation")}, {history.incomplete} of them '
              f'incomplete; {counted(len(history.bins), "label")}')
        print(text_table(
            ['label', 'first [s]', 'shown', 'over the recording'],
            [[label, (history.first[label] - history.start) / 1e9, history.count(label),
              f'|{sparkline(bins)}|'] for label, bins in history.bins.items()]))
    if history.events:
        print('events: ' + ', '.join(
            f'{count} {kind}' for kind, count in history.events.items()))


def _date(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc).strftime(
        '%Y-%m-%d %H:%M:%S.%f UTC')
