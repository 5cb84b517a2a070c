# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc bag` and `info`: make, annotate, show and play bags; show models and journals."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.writer import STORAGES, annotate_bag, make_bag, read_label_spans
from proemlc_ros.cli.inputs import (
    add_label_columns,
    find_table,
    is_picture_folder,
    picture_extractor,
    read_picture_folder,
    read_table,
)
from proemlc_ros.cli.options import add_action, load_model, real, whole
from proemlc_ros.cli.terminal import ProgressBar, counted, show, show_notes, sparkline, text_table
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE, FEATURES_TYPE, annotation_of
from proemlc_ros.core.storage.container import read_file, read_key, signature_of
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.tables import introduction_order, parse_pattern
from proemlc_ros.evaluation.taught_samples import open_journal, table_of
from proemlc_ros.foreign_text import shown
from proemlc_ros.journal.journal import Journal
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.label_text import twin_notes
from proemlc_ros.records import EventKind

# Characters of a bar, and parts into which the length of a bag is divided.
_BAR = 40
_PARTS = 60


def _add_bag(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = 'Makes, annotates, shows and plays bags (rosbag2).'
    commands = parser.add_subparsers(dest='action', required=True, metavar='ACTION')
    _add_make(add_action(commands, 'make', _make, 'convert a data set to a bag'))
    _add_annotate(add_action(commands, 'annotate', _annotate, 'add labels from a CSV file'))
    info = add_action(commands, 'info', _show_bags, 'show the content of a bag')
    info.add_argument('bags', nargs='+', type=Path, metavar='BAG')
    play = add_action(commands, 'play', _play, 'publish a bag (needs ROS 2)')
    play.description = 'Publishes the messages of a bag on its topics, at the recorded pace.'
    play.add_argument('bag', type=Path, metavar='BAG')
    play.add_argument('--rate', type=real(above=0), default=1.0, metavar='X',
                      help='playback speed (default: 1)')
    play.add_argument('--wait', type=real(least=0), default=10.0, metavar='SECONDS',
                      help='longest wait for subscribers before the first message (default: 10)')
    play.add_argument('--best-effort', action='store_true',
                      help='read the intact part of a damaged bag')


def _add_make(parser: argparse.ArgumentParser) -> None:
    parser.description = 'Converts a data set to a bag in which labels appear one by one.'
    parser.add_argument('data', type=Path, metavar='DATA',
                        help='an ARFF or CSV file, a folder of pictures, or a folder with --name')
    parser.add_argument('--extract', default='', metavar='EXTRACTOR',
                        help='extractor for pictures (default: the default backbone, or '
                        'colour_moments)')
    parser.add_argument('--sensors', type=Path, metavar='FILE',
                        help='extractor for pictures by this parameter file of the feature node')
    parser.add_argument('--name', metavar='SET', help='data set in the folder, such as scene')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='BAG',
                        help='folder of the new bag')
    parser.add_argument('--pattern', metavar='N+N+...',
                        help='labels introduced per step, such as 4+1+1 (default: all at once)')
    add_label_columns(parser, 'DATA')
    parser.add_argument('--storage', choices=sorted(STORAGES), default='mcap',
                        help='storage format of the new bag (default: mcap)')
    parser.add_argument('--rate', type=real(above=0), default=10.0, metavar='HZ',
                        help='samples per second (default: 10)')
    parser.add_argument('--seed', type=whole(0), default=0, metavar='N',
                        help='seed of the order of the samples (default: %(default)s)')


def _make(args: argparse.Namespace) -> int:
    extractor = None
    if args.name:
        data = find_table(args.data, args.name)
    elif is_picture_folder(args.data):
        extractor = picture_extractor(args.extract, args.sensors)
        data = read_picture_folder(args.data, extractor, args.labels)
    else:
        data = read_table(args.data, args.labels)
    show_notes(twin_notes(data.label_names))
    count = len(data.label_names)
    sizes = parse_pattern(args.pattern or str(count), count)
    order = introduction_order(data.Y, sizes, args.seed)
    with ProgressBar(len(order), data.name) as bar:
        made = make_bag(args.output, map(data.sample, bar.over(order)), args.storage, args.rate,
                        extractor=extractor.name if extractor is not None else '')
    show(f'{args.output}: {counted(made, "sample")} of {data.name}, {counted(count, "label")}, '
         f'{"+".join(map(str, sizes))}')
    return 0


def _add_annotate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        'Copies a bag and adds annotations. The CSV file has the columns start (or time) and '
        'labels (separated by ";"); optional are end (annotates all messages in between), absent '
        'and complete.')
    parser.add_argument('bag', type=Path, metavar='BAG', help='bag to copy; it is not changed')
    parser.add_argument('labels', type=Path, metavar='CSV', help='times and labels')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='BAG',
                        help='folder of the new bag')
    parser.add_argument('--topic', metavar='TOPIC', help='topic to annotate (default: feature '
                        'vectors, or the only sensor)')
    parser.add_argument('--absolute', action='store_true',
                        help='times are seconds since 1970, not since the start of the bag')
    parser.add_argument('--annotator', default='', metavar='NAME', help='name of the annotator')
    parser.add_argument('--storage', choices=sorted(STORAGES), default='mcap',
                        help='storage format of the new bag (default: mcap)')
    parser.add_argument('--best-effort', action='store_true',
                        help='read the intact part of a damaged bag')


def _annotate(args: argparse.Namespace) -> int:
    spans = read_label_spans(args.labels)
    show_notes(twin_notes(list(dict.fromkeys(
        name for span in spans for name in span.labels + span.absent))))
    with BagReader(args.bag, args.best_effort) as bag:
        topic = bag.topic(args.topic) if args.topic else _default_topic(bag)
        _check_annotating(args, topic)
        count = annotate_bag(bag, args.output, spans, topic, args.storage, not args.absolute,
                             args.annotator)
        show_notes(bag.notes)
    show(f'{args.output}: {counted(count, "message")} of {topic.name} annotated')
    return 0


def _check_annotating(args: argparse.Namespace, topic: BagTopic) -> None:
    if topic.type == ANNOTATION_TYPE:
        raise BagError(f'{topic.name} is a topic of annotations; name the topic to '
                       'annotate with --topic')
    if args.bag.is_dir() and args.output.resolve().is_relative_to(args.bag.resolve()):
        raise BagError(f'{args.output}: lies inside of the bag that is copied; choose '
                       'another folder')


def _default_topic(bag: BagReader) -> BagTopic:
    found = bag.of_type(FEATURES_TYPE)
    if not found:
        from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES
        found = bag.of_type(*(name for types in MESSAGE_TYPES.values() for name in types))
    if len(found) != 1:
        names = ', '.join(topic.name for topic in found) or 'none'
        raise BagError(f'{bag.path}: not clear which topic to annotate (found: {names}); '
                       'name it with --topic')
    return found[0]


def _show_bags(args: argparse.Namespace) -> int:
    for number, path in enumerate(args.bags):
        show() if number else None
        _show_bag(path)
    return 0


def _play(args: argparse.Namespace) -> int:
    # The only action that needs ROS 2.
    from proemlc_ros.nodes.bag_player import play
    count = play(args.bag, args.rate, args.wait, args.best_effort)
    show(f'{args.bag}: {counted(count, "message")} published')
    return 0


@dataclass
class _LabelHistory:
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


def _add_info(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_info)
    parser.description = (
        'Shows the content of model files (.npz), bags (rosbag2 folder, .db3 or .mcap) and '
        'journals, with the labels over time.')
    parser.add_argument('paths', nargs='+', type=Path, metavar='PATH',
                        help='a model file, a bag or a journal')
    parser.add_argument('--key', type=Path, metavar='KEYFILE',
                        help='key to check the signatures of model files with')
    parser.add_argument('--json', action='store_true',
                        help='print a line of JSON for each path: kind, samples, labels')
    damaged = parser.add_mutually_exclusive_group()
    damaged.add_argument('--strict', action='store_true', help='fail on a damaged bag')
    damaged.add_argument('--best-effort', action='store_true',
                         help='show the intact part of a damaged bag (default)')


def _run_info(args: argparse.Namespace) -> int:
    """Show each path and return the exit code."""
    for number, path in enumerate(args.paths):
        if args.json:
            show(json.dumps(_summary(path, best_effort=not args.strict)))
            continue
        if number:
            show()
        if path.suffix == '.npz':
            _show_model(path, args.key)
        else:
            _show_bag(path, best_effort=not args.strict)
    return 0


def _summary(path: Path, best_effort: bool) -> dict[str, Any]:
    """Return what a program asks of a model, a journal or a bag."""
    if path.suffix == '.npz':
        model = load_model(path)
        return {'path': str(path), 'kind': 'model', 'samples': model.samples,
                'width': model.width, 'extractor': model.extra.get('extractor', ''),
                'labels': dict(zip(model.labels, map(int, model.counts), strict=True)),
                'options': model.options.as_dict()}
    journal = open_journal(path)
    if journal is not None:
        state = table_of(journal).state
        return {'path': str(path), 'kind': 'journal', 'samples': len(state.samples),
                'labels': {name: state.shown.get(name, 0) for name in state.labels}}
    with BagReader(path, best_effort) as bag:
        history = _label_history(bag)
        return {'path': str(path), 'kind': 'bag', 'messages': bag.count,
                'seconds': (bag.end - bag.start) / 1e9, 'samples': history.annotations,
                'labels': {name: sum(bins) for name, bins in history.bins.items()},
                'topics': {topic.name: {'type': topic.type, 'messages': topic.count}
                           for topic in bag.topics}, 'notes': list(bag.notes)}


def _show_model(path: Path, key_file: Path | None = None) -> None:
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


def _show_bag(path: Path, best_effort: bool = True) -> None:
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
            history = _label_history(bag)
        except BagError as error:
            bag.notes.append(str(error))
        else:
            _show_history(history)
        if journal is not None:
            _show_samples(journal)
        show_notes(bag.notes)


def _show_samples(journal: Journal) -> None:
    """Print what is in force in a journal: samples and labels, after all corrections."""
    state = table_of(journal).state
    labels = ', '.join(f'{shown(name)} {state.shown.get(name, 0)}' for name in state.labels)
    show(f'in force: {counted(len(state.samples), "sample")}' + (f'; {labels}' if labels else ''))
    show_notes(journal.repairs)


def _label_history(bag: BagReader) -> _LabelHistory:
    """Read the annotations and model events of a bag.

    Raises:
        BagError: a message cannot be read.
    """
    history = _LabelHistory(bag.start)
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


def _show_history(history: _LabelHistory) -> None:
    """Print the labels over the length of a bag."""
    if history.annotations:
        show(f'\n{counted(history.annotations, "annotation")}, {history.incomplete} of them '
             f'incomplete; {counted(len(history.bins), "label")}')
        show(text_table(
            ['label', 'first [s]', 'shown', 'over time'],
            [[label, (history.first[label] - history.start) / 1e9, sum(bins),
              f'|{sparkline(bins)}|'] for label, bins in history.bins.items()]))
    if history.events:
        show('events: ' + ', '.join(f'{count} {kind}' for kind, count in history.events.items()))


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


COMMANDS = {'bag': _add_bag, 'info': _add_info}
