# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc info`: the content of model files, bags and journals."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.cli.options import load_model
from proemlc_ros.cli.terminal import counted, show, sparkline, text_table
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE, annotation_of
from proemlc_ros.core.storage.container import read_file
from proemlc_ros.core.storage.signing import read_key, signature_of
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.taught_samples import open_journal
from proemlc_ros.foreign_text import shown
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import EventKind

# Characters of a bar, and parts into which the length of a bag is divided.
_BAR = 40
_PARTS = 60


@dataclass
class LabelHistory:
    """Labels over the length of a bag, in memory that depends on the number of labels alone.

    Args:
        start: time of the first message in nanoseconds.
        bins: for each label, in order of appearance, how often each part of the length shows it.
        first: for each label, time of its first annotation in nanoseconds.
        annotations: number of annotations.
        incomplete: number of annotations that leave labels unknown.
        events: number of model events by kind, for a journal.
    """

    start: int
    bins: dict[str, list[int]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    annotations: int = 0
    incomplete: int = 0
    events: Counter[str] = field(default_factory=Counter)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Shows the content of model files (.npz), bags (rosbag2 folder, .db3 or .mcap) and '
        'journals, with the labels over time.')
    parser.add_argument('paths', nargs='+', type=Path, metavar='PATH',
                        help='a model file, a bag or a journal')
    parser.add_argument('--key', type=Path, metavar='KEYFILE',
                        help='key to check the signatures of model files with')
    damaged = parser.add_mutually_exclusive_group()
    damaged.add_argument('--strict', action='store_true',
                         help='fail on a damaged bag instead of showing what is readable')
    damaged.add_argument('--best-effort', action='store_true',
                         help='show what is readable of a damaged bag (the default)')


def run(args: argparse.Namespace) -> int:
    """Show each path and return the exit code."""
    for number, path in enumerate(args.paths):
        if number:
            show()
        if path.suffix == '.npz':
            show_model(path, args.key)
        else:
            show_bag(path, best_effort=not args.strict)
    return 0


def show_model(path: Path, key_file: Path | None = None) -> None:
    """Print the content of a model file.

    Args:
        path: the file.
        key_file: with the key to check its signature with.
    """
    model = load_model(path)
    options = model.options.as_dict()
    signature = signature_of(read_file(path), read_key(key_file) if key_file else None)
    show(f'{path}: model, {os.path.getsize(path):,} bytes, {signature.value}')
    extractor = model.extra.get('extractor') or 'not stated'
    show(f'  {counted(model.samples, "sample")} learnt of {model.width or "unknown"} values, '
         f'made by: {extractor}')
    show('  ' + ', '.join(f'{name} {value}' for name, value in options.items()
                          if value is not None))
    counts = model.counts
    highest = max(counts, default=0) or 1
    rows = [[label, count, '█' * round(_BAR * count / highest)]
            for label, count in zip(model.labels, counts, strict=True)]
    show(text_table(['label', 'samples', ''], rows) if rows else '  no labels yet')


def show_bag(path: Path, best_effort: bool = True) -> None:
    """Print the content of a bag.

    Args:
        path: the bag.
        best_effort: show what is readable of a damaged bag.

    Raises:
        BagError: the bag cannot be read.
    """
    journal = open_journal(path)
    with BagReader(path if journal is None else journal.folder, best_effort) as bag:
        duration = (bag.end - bag.start) / 1e9
        kind = 'bag' if journal is None else 'journal'
        show(f'{path}: {kind}, {counted(len(bag.topics), "topic")}, '
             f'{counted(bag.count, "message")}, {duration:,.3f} s')
        if bag.count:
            show(f'  from {_date(bag.start)} to {_date(bag.end)}')
        show(text_table(['topic', 'type', 'messages', 'readable'], [
            [topic.name, topic.type, topic.count, 'yes' if topic.readable else 'no']
            for topic in bag.topics]))
        try:
            history = label_history(bag)
        except BagError as error:
            bag.notes.append(str(error))
        else:
            show_history(history)
        if journal is not None:
            show_samples(journal)
        for note in bag.notes:
            show(f'note: {note}')


def show_samples(journal: Journal) -> None:
    """Print what is in force in a journal: samples and labels, after all corrections."""
    state = SampleTable().follow(journal.entries()).state
    labels = ', '.join(f'{shown(name)} {state.shown.get(name, 0)}' for name in state.labels)
    show(f'in force: {counted(len(state.samples), "sample")}' + (f'; {labels}' if labels else ''))
    for repair in journal.repairs:
        show(f'note: {repair}')


def label_history(bag: BagReader) -> LabelHistory:
    """Read the annotations and model events of a bag.

    Raises:
        BagError: a message cannot be read.
    """
    history = LabelHistory(bag.start)
    span = max(1, bag.end - bag.start)
    for topic, time, message in bag.messages(bag.of_type(ANNOTATION_TYPE, EVENT_TYPE)):
        if topic.type == EVENT_TYPE:
            history.events[_event_name(getattr(message, 'kind', None))] += 1
            continue
        part = max(0, min(_PARTS - 1, (time - bag.start) * _PARTS // span))
        for annotation in bag.converted(lambda one, _: [annotation_of(one)], message, time):
            history.annotations += 1
            history.incomplete += not annotation.complete
            for label in annotation.labels:
                history.first.setdefault(label, time)
                history.bins.setdefault(label, [0] * _PARTS)[part] += 1
    bag.note_unreadable()
    return history


def show_history(history: LabelHistory) -> None:
    """Print the labels over the length of a bag."""
    if history.annotations:
        show(f'\n{counted(history.annotations, "annotation")}, {history.incomplete} of them '
             f'incomplete; {counted(len(history.bins), "label")}')
        show(text_table(
            ['label', 'first [s]', 'shown', 'over time'],
            [[label, (history.first[label] - history.start) / 1e9, sum(bins),
              f'|{sparkline(bins)}|'] for label, bins in history.bins.items()]))
    if history.events:
        show('events: ' + ', '.join(
            f'{count} {kind}' for kind, count in history.events.items()))


def _event_name(kind: Any) -> str:
    try:
        return EventKind(kind).name.lower()
    except (ValueError, TypeError):
        return f'unknown ({kind})'


def _date(nanoseconds: int) -> str:
    try:
        date = datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return f'{nanoseconds} ns'  # Of a damaged bag: no date at all.
    return date.strftime('%Y-%m-%d %H:%M:%S.%f UTC')
