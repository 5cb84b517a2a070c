# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc predict`: labels for pictures and vectors that nobody has labelled."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.cli.inputs import is_picture_folder
from proemlc_ros.cli.options import check_folder_of, load_model, real, whole
from proemlc_ros.cli.terminal import ProgressBar, counted, show, text_table
from proemlc_ros.conversions import IMAGE_TYPES
from proemlc_ros.errors import DataSetError, ParameterError
from proemlc_ros.evaluation.predictions import (
    PicturePrediction,
    Predictor,
    csv_lines,
    json_lines,
    pictures_of_bag,
    pictures_of_source,
    predictions_page,
    sensors_beside,
)
from proemlc_ros.evaluation.report import today
from proemlc_ros.files import replace_text

_Item = TypeVar('_Item')
_FORMATS = ('table', 'csv', 'jsonl', 'html')
_STORAGES = ('.db3', '.mcap')
# Longest side of a picture; extractors scale further down.
_LONGEST = 4096


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run)
    parser.description = (
        'Labels the pictures of a folder, video, bag or camera with a taught model. Of a bag '
        'without pictures, its feature vectors are labelled.')
    parser.add_argument('model', type=Path, metavar='MODEL',
                        help='a model file (.npz), the folder of "proemlc teach", a model '
                             'directory or a journal')
    parser.add_argument('source', nargs='?', type=Path, metavar='SOURCE',
                        help='a folder of pictures, a picture, a video or a bag')
    parser.add_argument('--camera', nargs='?', const='0', metavar='DEVICE',
                        help='a webcam instead, by number or device file (default: 0); Ctrl-C '
                             'ends')
    parser.add_argument('--topic', default='', metavar='TOPIC',
                        help='topic of a bag, where several have pictures or features')
    parser.add_argument('--every', type=whole(1), default=1, metavar='N',
                        help='use every N-th picture (default: %(default)s)')
    parser.add_argument('--count', type=whole(1), metavar='N', help='stop after N pictures')
    parser.add_argument('--sensors', type=Path, metavar='FILE',
                        help='parameter file of the feature node (default: found by the model)')
    parser.add_argument('--unknown-above', type=real(), default=1.0, metavar='X',
                        help='novelty above which no label is named, 0 to 1 (default: 1, never)')
    parser.add_argument('--output', type=Path, metavar='FILE',
                        help='write to a file: .csv, .jsonl, .html, or a table')
    parser.add_argument('--format', choices=_FORMATS,
                        help='default: by the name of --output, else a table')


def _run(args: argparse.Namespace) -> int:
    if (args.source is None) == (args.camera is None):
        raise ParameterError('give a SOURCE or --camera')
    kind = args.format or _format_of(args.output)
    if kind == 'html' and args.output is None:
        raise ParameterError('a report needs a file: --output FILE.html')
    check_folder_of(args.output)
    predictor = Predictor(load_model(args.model), args.sensors or sensors_beside(args.model),
                          args.unknown_above)
    with ExitStack() as stack:
        found = _predictions(args, predictor, stack)
        _write(kind, args, found)
    for note in predictor.notes:
        show(f'note: {note}', stream=sys.stderr)
    return 0


def _format_of(output: Path | None) -> str:
    suffix = '' if output is None else output.suffix.lower().lstrip('.')
    return {'json': 'jsonl', 'htm': 'html'}.get(suffix, suffix if suffix in _FORMATS else 'table')


def _predictions(args: argparse.Namespace, predictor: Predictor,
                 stack: ExitStack) -> Iterator[PicturePrediction]:
    """Return the predictions of what the command line names."""
    if args.camera is None and _is_bag(args.source):
        bag = stack.enter_context(BagReader(args.source))
        named = [topic for topic in bag.topics if topic.name == args.topic]
        if bag.of_type(*IMAGE_TYPES) and (not named or named[0].type in IMAGE_TYPES):
            pictures = pictures_of_bag(bag, args.topic)
            return predictor.pictures(_some(pictures, args.every, args.count))
        return _some(predictor.vectors(bag, args.topic), args.every, args.count)
    from proemlc_ros.bags.pictures import SUFFIXES, open_source, read_picture
    if args.camera is not None:
        source = open_source('camera', args.camera, _LONGEST)
    elif is_picture_folder(args.source):
        source = open_source('images', str(args.source), _LONGEST)
    elif args.source.suffix.lower() in SUFFIXES:
        return predictor.pictures([(args.source.name, read_picture(args.source))])
    elif args.source.is_dir():
        raise DataSetError(f'{args.source}: neither pictures nor a bag in it')
    else:
        source = open_source('video', str(args.source), _LONGEST)
    bar = stack.enter_context(ProgressBar(
        args.count or -(-source.count // args.every), 'pictures',
        None if args.output else False))
    return bar.over(predictor.pictures(pictures_of_source(source, args.every, args.count or 0)))


def _is_bag(path: Path) -> bool:
    return path.suffix in _STORAGES or (path.is_dir() and not is_picture_folder(path) and any(
        file.suffix in _STORAGES or file.name.endswith('.zstd') for file in path.iterdir()))


def _some(items: Iterable[_Item], step: int, most: int | None) -> Iterator[_Item]:
    for place, item in enumerate(items):
        if most is not None and place >= step * most:
            return
        if place % step == 0:
            yield item


def _write(kind: str, args: argparse.Namespace, found: Iterator[PicturePrediction]) -> None:
    source = args.source or f'camera {args.camera}'
    if kind == 'html':
        predictions_page(f'{source} by {args.model}', today(), found).write(args.output)
        show(f'Written: {args.output}')
        return
    lines = (csv_lines(found) if kind == 'csv' else json_lines(found) if kind == 'jsonl'
             else _table(found, args.camera is not None))
    if args.output is None:
        for line in lines:
            show(line.rstrip('\n'))
    else:
        text = list(lines)
        replace_text(args.output, ''.join(text))
        show(f'{args.output}: {counted(len(text) - (kind == "csv"), "line")}')


def _table(found: Iterator[PicturePrediction], live: bool) -> Iterator[str]:
    """Yield a table, or line by line where a camera has no end."""
    if live:
        for one in found:
            yield f'{one.in_words}  {one.sureness:.0%}\n'
        return
    rows: list[list[object]] = [[one.name, one.in_words, f'{one.sureness:.0%}',
                                 round(one.found.novelty, 2)] for one in found]
    yield text_table(['picture', 'labels', 'sure', 'novelty'], rows) + '\n'


COMMANDS = {'predict': _add_arguments}
