# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc bag`: make, annotate, show and play recordings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from proemlc_ros.bags.annotating import annotate_bag
from proemlc_ros.bags.label_spans import read_label_spans
from proemlc_ros.bags.making import make_bag
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.topics import BagTopic
from proemlc_ros.bags.writing import STORAGES
from proemlc_ros.classifier.records import Vector
from proemlc_ros.cli.info import show_bag
from proemlc_ros.cli.label_columns import label_columns
from proemlc_ros.cli.number_types import not_negative, positive, seed
from proemlc_ros.cli.progress import ProgressBar
from proemlc_ros.cli.wording import counted
from proemlc_ros.conversions import ANNOTATION_TYPE, FEATURES_TYPE
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.introduction import introduction_order, parse_pattern
from proemlc_ros.experiments.datasets import DataSet, find_dataset, read_dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = 'Makes, annotates, shows and plays recordings (rosbag2).'
    commands = parser.add_subparsers(dest='action', required=True, metavar='ACTION')
    _add_make(commands.add_parser('make', help='a data set as a recording'))
    _add_annotate(commands.add_parser('annotate', help='add labels from a CSV file'))
    info = commands.add_parser('info', help='show what is in a recording')
    info.add_argument('bags', nargs='+', type=Path, metavar='BAG')
    play = commands.add_parser('play', help='publish a recording (needs ROS 2)')
    play.description = 'Publishes a recording on its topics, in its own time.'
    play.add_argument('bag', type=Path, metavar='BAG')
    play.add_argument('--rate', type=positive, default=1.0, metavar='X', help='speed; default 1')
    play.add_argument('--wait', type=not_negative, default=10.0, metavar='SECONDS',
                      help='how long to wait for subscribers before the first message; '
                           'default 10')
    play.add_argument('--best-effort', action='store_true',
                      help='use what is readable of a damaged recording')


def run(args: argparse.Namespace) -> int:
    """Do what was asked and return the exit code."""
    actions = {'make': _make, 'annotate': _annotate, 'info': _info, 'play': _play}
    return actions[args.action](args)


def _add_make(parser: argparse.ArgumentParser) -> None:
    parser.description = 'Turns a data set into a recording in which labels appear one by one.'
    parser.add_argument('data', type=Path, metavar='DATA',
                        help='an ARFF or CSV file, or a folder with --name')
    parser.add_argument('--name', metavar='SET', help='data set in the folder, such as scene')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='BAG',
                        help='folder of the new recording')
    parser.add_argument('--pattern', metavar='N+N+...',
                        help='how many labels appear when, such as 4+1+1; default: all at once')
    parser.add_argument('--labels', metavar='NAMES|N', help='label columns of DATA: names '
                        'separated by commas, or how many of the last (negative: first) columns')
    parser.add_argument('--storage', choices=sorted(STORAGES), default='mcap',
                        help='format of the new recording; default mcap')
    parser.add_argument('--rate', type=positive, default=10.0, metavar='HZ',
                        help='samples a second; default 10')
    parser.add_argument('--seed', type=seed, default=0, metavar='N',
                        help='of the order of the samples (default: %(default)s)')


def _make(args: argparse.Namespace) -> int:
    data = (find_dataset(args.data, args.name) if args.name
            else read_dataset(args.data, label_columns(args.labels)))
    count = len(data.label_names)
    sizes = parse_pattern(args.pattern or str(count), count)
    order = introduction_order(data.Y, sizes, args.seed)
    with ProgressBar(len(order), data.name) as bar:
        made = make_bag(args.output, _samples(data, order, bar), args.storage, args.rate)
    print(f'{args.output}: {counted(made, "sample")} of {data.name}, {counted(count, "label")}, '
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
        'Copies a recording and adds annotations. The CSV file has the columns start (or time), '
        'labels (separated by ";"), and if wanted end (a span instead of a moment), absent, '
        'complete.')
    parser.add_argument('bag', type=Path, metavar='BAG', help='the recording; it is not changed')
    parser.add_argument('labels', type=Path, metavar='CSV', help='what it shows when')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='BAG',
                        help='folder of the new recording')
    parser.add_argument('--topic', metavar='TOPIC', help='what the labels are about; default: the '
                        'feature vectors, or the only sensor')
    parser.add_argument('--absolute', action='store_true',
                        help='times are dates in seconds, not seconds from the beginning')
    parser.add_argument('--annotator', default='', metavar='NAME', help='who says so')
    parser.add_argument('--storage', choices=sorted(STORAGES), default='mcap',
                        help='format of the new recording; default mcap')
    parser.add_argument('--best-effort', action='store_true',
                        help='use what is readable of a damaged recording')


def _annotate(args: argparse.Namespace) -> int:
    spans = read_label_spans(args.labels)
    with BagReader(args.bag, args.best_effort) as bag:
        topic = bag.topic(args.topic) if args.topic else _usual_topic(bag)
        _check_annotating(args, topic)
        count = annotate_bag(bag, args.output, spans, topic, args.storage, not args.absolute,
                             args.annotator)
        for note in bag.notes:
            print(f'note: {note}')
    print(f'{args.output}: {counted(count, "message")} of {topic.name} annotated')
    return 0


def _check_annotating(args: argparse.Namespace, topic: BagTopic) -> None:
    if topic.type == ANNOTATION_TYPE:
        raise BagError(f'{topic.name} has annotations itself; name with --topic what they are '
                       'about')
    if args.bag.is_dir() and args.output.resolve().is_relative_to(args.bag.resolve()):
        raise BagError(f'{args.output}: lies inside of the recording that is copied; choose '
                       'another folder')


def _usual_topic(bag: BagReader) -> BagTopic:
    found = bag.of_type(FEATURES_TYPE)
    if not found:
        from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES
        found = bag.of_type(*(name for types in MESSAGE_TYPES.values() for name in types))
    if len(found) != 1:
        names = ', '.join(topic.name for topic in found) or 'none'
        raise BagError(f'{bag.path}: not clear what the labels are about (found: {names}); '
                       'say it with --topic')
    return found[0]


def _info(args: argparse.Namespace) -> int:
    for number, path in enumerate(args.bags):
        print() if number else None
        show_bag(path)
    return 0


def _play(args: argparse.Namespace) -> int:
    # The only action that needs ROS 2.
    from proemlc_ros.nodes.bag_player import play
    count = play(args.bag, args.rate, args.wait, args.best_effort)
    print(f'{args.bag}: {counted(count, "message")} published')
    return 0
