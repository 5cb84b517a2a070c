# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc merge`: the models of a fleet into one."""

from __future__ import annotations

import argparse
from pathlib import Path

from proemlc_ros.cli.options import load_model
from proemlc_ros.cli.terminal import counted, show
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import MergeError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Merges models that have the same hidden layer (settings, seed and width; layers drawn '
        'from samples: started from one file) into one that has learnt what all of them have. '
        'Labels are joined by name; a label that one model does not know counts as absent there.')
    parser.add_argument('models', nargs='+', type=Path, metavar='MODEL', help='.npz files')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='FILE',
                        help='model file to write (.npz)')


def run(args: argparse.Namespace) -> int:
    """Merge and return the exit code."""
    merged = load_model(args.models[0])
    for path in args.models[1:]:
        other = load_model(path)
        check_same_extractor(merged, other, path)
        try:
            merged.merge(other)
        except MergeError as error:
            raise MergeError(f'{path}: {error}') from error
    # Undo stack, journal position and the like belong to the node that saved the first file.
    merged.save(args.output, extra={'extractor': merged.extra.get('extractor', '')})
    show(f'{args.output}: {counted(len(args.models), "model")}, '
         f'{counted(merged.samples, "sample")}, {counted(len(merged.labels), "label")}')
    return 0


def check_same_extractor(merged: ProEMLC, other: ProEMLC, path: Path) -> None:
    """Check that a model has learnt from the features of the same extractor.

    Raises:
        MergeError: Both name their extractor, and they differ.

    """
    ours, theirs = merged.extra.get('extractor', ''), other.extra.get('extractor', '')
    if ours and theirs and ours != theirs:
        raise MergeError(f'{path}: has learnt from features made by {theirs!r}, the models before '
                         f'it from {ours!r}; they cannot be merged')
    merged.extra['extractor'] = ours or theirs
