# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc export`: a taught model as one ONNX file."""

from __future__ import annotations

import argparse
from pathlib import Path

from proemlc_ros.cli.arguments import check_folder_of
from proemlc_ros.cli.options import load_model
from proemlc_ros.cli.terminal import counted, show
from proemlc_ros.evaluation.onnx_export import export_model, export_with_backbone
from proemlc_ros.files import replace_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Writes a taught model as one ONNX file, for programs that have onnxruntime and not this '
        'package: from feature vectors, or from the input of a network, to the scores of the '
        'labels. Names of the labels and thresholds are in its metadata.')
    parser.add_argument('model', type=Path, metavar='MODEL', help='a model file (.npz)')
    parser.add_argument('--output', type=Path, metavar='FILE',
                        help='ONNX file to write; default: MODEL.onnx')
    parser.add_argument('--backbone', type=Path, metavar='NETWORK',
                        help='ONNX file of the network that made the features; the result then '
                             "takes that network's input, a picture resized and normalised")


def run(args: argparse.Namespace) -> int:
    """Write the file and return the exit code."""
    output = args.output or args.model.with_suffix('.onnx')
    check_folder_of(output)
    model = load_model(args.model)
    made = (export_model(model) if args.backbone is None else
            export_with_backbone(model, args.backbone))
    data = made.SerializeToString()
    replace_bytes(output, data)
    show(f'{output}: {counted(len(model.labels), "label")}, '
         f'{counted(model.samples, "sample")}, from '
         f'{"pictures" if args.backbone else f"vectors of {model.width} values"}; '
         f'{len(data):,} bytes')
    return 0
