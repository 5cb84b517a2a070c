# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc sign`: sign model files with the key of a fleet."""

from __future__ import annotations

import argparse
from pathlib import Path

from proemlc_ros.cli.options import load_model
from proemlc_ros.cli.terminal import counted, show
from proemlc_ros.core.storage.container import read_file
from proemlc_ros.core.storage.signing import read_key, sign
from proemlc_ros.files import replace_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Signs model files with a key that the robots of a fleet share (HMAC-SHA-256). A '
        "signature is part of the file; older versions ignore it. Make a key with 'openssl rand "
        "-hex 32 > fleet.key'.")
    parser.add_argument('models', nargs='+', type=Path, metavar='FILE',
                        help='.npz files; a signature that they have is replaced')
    parser.add_argument('--key', type=Path, required=True, metavar='KEYFILE',
                        help='file with the key, at least 32 characters')


def run(args: argparse.Namespace) -> int:
    """Sign and return the exit code."""
    key = read_key(args.key)
    for path in args.models:
        model = load_model(path)
        replace_bytes(path, sign(read_file(path), key))
        show(f'{path}: signed; {counted(model.samples, "sample")}, '
             f'{counted(len(model.labels), "label")}')
    return 0
