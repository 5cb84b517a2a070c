# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc bag`: make, annotate, show and play bags."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from proemlc_ros.bags.annotating import annotate_bag, read_label_spans
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.writer import STORAGES, make_bag
from proemlc_ros.cli.arguments import not_negative, positive, seed
from proemlc_ros.cli.info import show_bag
from proemlc_ros.cli.picture_folders import (
    is_picture_folder,
    picture_extractor,
    read_picture_folder,
)
from proemlc_ros.cli.tables import add_label_columns, find_table, read_table
from proemlc_ros.cli.terminal import ProgressBar, counted, show
from proemlc_ros.conversions import ANNOTATION_TYPE, FEATURES_TYPE
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.introduction import introduction_order, parse_pattern
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.records import Vector


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = 'Makes, annotates, shows and plays bags (rosbag2).'
    commands = parser.add_subparsers(dest='action', required=True, metavar='ACTION')
    _add_make(commands.add_parser('make', help='convert a data set to a bag'))
    _add_annotate(commands.add_parser('annotate', help='add labels from a CSV file'))
    info = commands.add_parser('info', help='show the content of a bag')
    info.add_argument('bags', nargs='+', type=Path, metavar='BAG')
    play = commands.add_parser('play', help='publish a bag (needs ROS 2)')
    play.description = 'Publishes the messages of a bag on its topics, at the recorded pace.'
    play.add_argument('bag', type=Path, metavar='BAG')
    play.add_argument('--rate', type=positive, default=1.0, metavar='X',
                      help='playback speed (default: 1)')
    play.add_argument('--wait', type=not_negative, default=10.0, metavar='SECONDS',
                      help='longest wait for subscribers before the first message (default: 10)')
    play.add_argument('--best-effort', action='store_true',
                      help='use what is readable of a damaged bag')


def run(args: argparse.Namespace) -> int:
    """Run the action and return the exit code."""
    actions = {'make': _make, 'annotate': _annotate, 'info': _info, 'play': _play}
    return actions[args.action](args)


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
    parser.add_argument('--rate', type=positive, default=10.0, metavar='HZ',
                        help='samples per second (default: 10)')
    parser.add_argument('--seed', type=seed, default=0, metavar='N',
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
    count = len(data.label_names)
    sizes = parse_pattern(args.pattern or str(count), count)
    order = introduction_order(data.Y, sizes, args.seed)
    with ProgressBar(len(order), data.name) as bar:
        made = make_bag(args.output, _samples(data, order, bar), args.storage, args.rate,
                        extractor=extractor.name if extractor is not None else '')
    show(f'{args.output}: {counted(made, "sample")} of {data.name}, {counted(count, "label")}, '
         f'{"+".join(map(str, sizes))}')
    return 0


def _samples(
    data: DataSet, order: np.ndarray, bar: ProgressBar
) -> Iterator[tuple[Vector, tuple[str, ...]]]:
    for row in order:
        values = data.X[row].toarray()[0] if sparse.issparse(data.X) else data.X[row]
        bar.advance()
        yield values.astype(np.float32), tuple(data.labels(row))


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
                        help='use what is readable of a damaged bag')


def _annotate(args: argparse.Namespace) -> int:
    spans = read_label_spans(args.labels)
    with BagReader(args.bag, args.best_effort) as bag:
        topic = bag.topic(args.topic) if args.topic else _default_topic(bag)
        _check_annotating(args, topic)
        count = annotate_bag(bag, args.output, spans, topic, args.storage, not args.absolute,
                             args.annotator)
        for note in bag.notes:
            show(f'note: {note}')
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


def _info(args: argparse.Namespace) -> int:
    for number, path in enumerate(args.bags):
        show() if number else None
        show_bag(path)
    return 0


def _play(args: argparse.Namespace) -> int:
    # The only action that needs ROS 2.
    from proemlc_ros.nodes.bag_player import play
    count = play(args.bag, args.rate, args.wait, args.best_effort)
    show(f'{args.bag}: {counted(count, "message")} published')
    return 0
