# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc export` and `sign`: model files for other programs, and for the robots of a fleet."""

from __future__ import annotations

import argparse
from pathlib import Path

from proemlc_ros.cli.options import check_folder_of, load_model
from proemlc_ros.cli.terminal import counted, show
from proemlc_ros.core.storage.container import read_file, read_key, sign
from proemlc_ros.evaluation import standalone
from proemlc_ros.evaluation.onnx_export import export_model, export_with_backbone
from proemlc_ros.files import replace_bytes


def _add_export(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_export)
    parser.description = (
        'Writes a taught model as one ONNX file, for programs that have onnxruntime and not this '
        'package: from feature vectors, or from the input of a network, to the scores of the '
        'labels. Names of the labels and thresholds are in its metadata. predict.py beside it '
        'predicts with onnxruntime and NumPy alone. --pictures writes the pictures that were '
        'taught instead, with their labels.')
    parser.add_argument('model', type=Path, metavar='MODEL',
                        help='a model file (.npz), the folder of "proemlc teach", a model '
                             'directory or a journal')
    parser.add_argument('--output', type=Path, metavar='FILE',
                        help='ONNX file to write, default: MODEL.onnx; with --pictures, the '
                             'folder to make, default: MODEL_LAYOUT')
    parser.add_argument('--pictures', choices=('coco', 'yolo', 'folder'),
                        help='write the pictures of a journal as a data set: COCO, YOLO, or a '
                             'folder per label with labels.csv')
    parser.add_argument('--backbone', type=Path, metavar='NETWORK',
                        help='ONNX file of the network that made the features; the result then '
                             "takes that network's input, a picture resized and normalised")


def _run_export(args: argparse.Namespace) -> int:
    """Write the file and return the exit code."""
    if args.pictures:
        return _export_pictures(args)
    output = args.output or args.model.with_suffix('.onnx')
    check_folder_of(output)
    model = load_model(args.model)
    made = (export_model(model) if args.backbone is None else
            export_with_backbone(model, args.backbone))
    data = made.SerializeToString()
    replace_bytes(output, data)
    script = output.with_name('predict.py')
    replace_bytes(script, Path(standalone.__file__).read_bytes())
    show(f'{output}: {counted(len(model.labels), "label")}, '
         f'{counted(model.samples, "sample")}, from '
         f'{"pictures" if args.backbone else f"vectors of {model.width} values"}; '
         f'{len(data):,} bytes')
    show(f'try it: python {script} {output} {"PICTURES" if args.backbone else "VECTORS.npy"}')
    return 0


def _export_pictures(args: argparse.Namespace) -> int:
    # Imported late: a model file needs neither rosbags nor OpenCV.
    from proemlc_ros.bags.picture_labels import write_pictures
    from proemlc_ros.evaluation.taught_samples import taught_pictures
    pictures, without = taught_pictures(args.model)
    output = args.output or args.model.with_name(f'{args.model.name}_{args.pictures}')
    count = write_pictures(output, args.pictures, pictures)
    show(f'{output}: {counted(count, "picture")}')
    if without:
        show(f'note: {counted(without, "sample")} without a kept picture left out')
    if partial := sum(not one.complete for one in pictures):
        show(f'note: {counted(partial, "picture")} with partial annotations; that other labels '
             f'are open is {"lost" if args.pictures == "yolo" else "in fields of our own"}, '
             'and no command reads it back')
    return 0


def _add_sign(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=_run_sign)
    parser.description = (
        'Signs model files with a key that the robots of a fleet share (HMAC-SHA-256). A '
        "signature is part of the file; older versions ignore it. Make a key with 'openssl rand "
        "-hex 32 > fleet.key'.")
    parser.add_argument('models', nargs='+', type=Path, metavar='FILE',
                        help='.npz files; a signature that they have is replaced')
    parser.add_argument('--key', type=Path, required=True, metavar='KEYFILE',
                        help='file with the key, at least 32 characters')


def _run_sign(args: argparse.Namespace) -> int:
    """Sign and return the exit code."""
    key = read_key(args.key)
    for path in args.models:
        model = load_model(path)
        replace_bytes(path, sign(read_file(path), key))
        show(f'{path}: signed; {counted(model.samples, "sample")}, '
             f'{counted(len(model.labels), "label")}')
    return 0


COMMANDS = {'export': _add_export, 'sign': _add_sign}
