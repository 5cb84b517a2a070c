# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc merge`: the models or the journals of a fleet into one model."""

from __future__ import annotations

import argparse
from pathlib import Path

from proemlc_ros.cli.options import load_model
from proemlc_ros.cli.terminal import counted, show
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.selection.search import SIZES
from proemlc_ros.errors import HiddenLayerMismatchError, MergeError
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.collected_samples import CollectedSamples
from proemlc_ros.journal.journal import JOURNAL, Journal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        'Merges models that have the same hidden layer (settings, seed and width; layers drawn '
        'from samples: started from one file) into one that has learnt what all of them have. '
        'Labels are joined by name; a label that one model does not know counts as absent there. '
        'Journals, or models with their journals beside them whose layers differ, give the model '
        'that all their samples decide on together, as a renewal of the node does.')
    parser.add_argument('models', nargs='+', type=Path, metavar='MODEL',
                        help='.npz files, or journals, or model directories')
    parser.add_argument('-o', '--output', type=Path, required=True, metavar='FILE',
                        help='model file to write (.npz)')


def run(args: argparse.Namespace) -> int:
    """Merge and return the exit code."""
    if any(path.is_dir() for path in args.models):
        return _merge_journals(args, [_journal_of(path) for path in args.models])
    try:
        return _merge_models(args)
    except HiddenLayerMismatchError:
        journals = [path.parent / JOURNAL for path in args.models]
        if len(set(journals)) < len(journals) or not all(path.is_dir() for path in journals):
            raise
        show('note: the hidden layers differ; the journals beside the models are used')
        return _merge_journals(args, journals)


def _merge_models(args: argparse.Namespace) -> int:
    merged = load_model(args.models[0])
    for path in args.models[1:]:
        other = load_model(path)
        check_same_extractor(merged, other, path)
        try:
            merged.merge(other)
        except MergeError as error:
            raise type(error)(f'{path}: {error}') from error
    # Undo stack, journal position and the like belong to the node that saved the first file.
    merged.save(args.output, extra={'extractor': merged.extra.get('extractor', '')})
    show(f'{args.output}: {counted(len(args.models), "model")}, '
         f'{counted(merged.samples, "sample")}, {counted(len(merged.labels), "label")}')
    return 0


def _journal_of(path: Path) -> Path:
    """Return the journal of a path: itself, that of a model directory, or beside a model."""
    folder = path if path.is_dir() else path.parent
    return Journal.find(folder) or folder


def _merge_journals(args: argparse.Namespace, journals: list[Path]) -> int:
    """Write the model that the samples of all journals decide on."""
    samples = CollectedSamples.of(BagSet(journals))
    if samples.rejects:
        causes = ', '.join(f'{count} {cause}' for cause, count in sorted(samples.rejects.items()))
        raise MergeError(f'not all samples of the journals fit together: {causes}')
    model = samples.model({}, SIZES[-1])
    model.save(args.output)
    show(f'{args.output}: {counted(len(journals), "journal")}, '
         f'{counted(model.samples, "sample")}, {counted(len(model.labels), "label")}')
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
