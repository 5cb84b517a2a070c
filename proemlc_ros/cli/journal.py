# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc journal`: check, repair, back up and compact the journal of a model directory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.cli.options import add_action
from proemlc_ros.cli.terminal import ProgressBar, counted, show
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError
from proemlc_ros.journal.check import (
    DirectoryReport,
    back_up,
    check_directory,
    journal_of,
    model_directory_of,
)
from proemlc_ros.journal.entries import numbers_in_words
from proemlc_ros.journal.journal import JOURNAL, Journal, position_of
from proemlc_ros.journal.metadata import read_metadata
from proemlc_ros.records import Event, EventKind

_DIRECTORY = ('model directory of a classifier, such as ~/.ros/proemlc/proemlc, or the folder of '
              'proemlc teach; check and repair also take the folder of a journal')


def _add_journal(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = ('Checks, repairs, backs up and compacts the journal of a classifier. '
                          'check and backup may run while the classifier does.')
    actions = parser.add_subparsers(dest='action', metavar='ACTION', required=True)
    check = _add(actions, 'check', _check,
                 'prove every entry; exit code 1 where something is damaged')
    check.add_argument('--json', action='store_true', help='print the result as JSON')
    _add(actions, 'repair', _repair,
         'recover as the classifier does at start: keep intact entries')
    backup = _add(actions, 'backup', _backup, 'copy journal, snapshots and model files')
    backup.add_argument('target', type=Path, metavar='TARGET', help='new folder for the copy')
    _add(actions, 'compact', _compact,
         'write a pair of snapshots, then drop the entries that both hold')


def _add(actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str,
         action: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    command = add_action(actions, name, action, text)
    command.add_argument('directory', type=_model_directory, metavar='DIRECTORY', help=_DIRECTORY)
    return command


def _model_directory(text: str) -> Path:
    """Return the model directory that a path names: itself, or that of `proemlc teach`."""
    path = Path(text)
    return path / 'model' if (path / 'model' / JOURNAL).is_dir() else path


def _check(args: argparse.Namespace) -> int:
    report = _checked(args.directory)
    proven = sum(file.proven for file in report.files)
    unprovable = sum(file.unprovable for file in report.files)
    if args.json:
        show(json.dumps({
            'last': report.last, 'proven': proven, 'unprovable': unprovable,
            'files': [file.name for file in report.files], 'snapshots': report.snapshots,
            'missing': [[gap.start, gap.stop - 1] for gap in report.gaps],
            'problems': report.problems}))
        return 1 if report.problems or report.gaps else 0
    show(f'{args.directory}: {counted(len(report.files), "journal file")}, last entry '
         f'{report.last}; {proven} entries proven, {unprovable} of an earlier version without '
         'a proof')
    for name, position in report.snapshots.items():
        show(f'{name}: whole, holds the entries up to {position}')
    problems = list(report.problems)
    if report.gaps:
        gone = numbers_in_words(report.gaps)
        problems.append(f'no entry has the number {gone}')
    for problem in problems:
        show(f'damaged: {problem}')
    if problems:
        show("'proemlc journal repair' keeps what proves itself, as the classifier does when it "
             'starts')
    return 1 if problems else 0


def _repair(args: argparse.Namespace) -> int:
    folder = journal_of(args.directory)
    with _locked(model_directory_of(folder, args.directory)):
        journal = _opened(folder)
        for line in journal.repairs:
            show(line)
        entries = sum(report.usable for report in journal.reports)
        show(f'{args.directory}: {counted(len(journal.repairs), "repair")}, {entries} entries')
        journal.close()
        if journal.problem:
            raise JournalError(journal.problem)
    return 0


def _backup(args: argparse.Namespace) -> int:
    files = back_up(args.directory, args.target)
    report = _checked(args.target)
    show(f'{args.target}: {counted(files, "file")}, entries up to {report.last}')
    for problem in report.problems:
        show(f'damaged: {problem}')
    return 1 if report.problems else 0


def _compact(args: argparse.Namespace) -> int:
    journal_of(args.directory)
    with closing(ModelDirectory(args.directory)) as directory:
        journal = _opened(directory.journal)
        before = journal.size
        durable = _resumed(directory, journal)
        durable.compact()
        show(f'{args.directory}: journal {before / 1e6:.2f} MB before, '
             f'{journal.size / 1e6:.2f} MB after; the snapshots hold the entries up to '
             f'{durable.position}')
        journal.close()
    return 0


def _bar(journal: Path) -> ProgressBar:
    return ProgressBar(read_metadata(journal).last, 'entries')


def _checked(directory: Path) -> DirectoryReport:
    with _bar(journal_of(directory)) as bar:
        return check_directory(directory, bar.advance)


def _opened(journal: Path) -> Journal:
    with _bar(journal) as bar:
        return Journal(journal, progress=bar.advance)


def _locked(directory: Path | None) -> AbstractContextManager[object]:
    """Keep classifiers away; nothing writes to a journal that stands alone."""
    return nullcontext() if directory is None else closing(ModelDirectory(directory))


def _resumed(directory: ModelDirectory, journal: Journal) -> DurableModel:
    """Return the model of a directory; without a snapshot its settings are not known.

    Raises:
        JournalError: the classifier has to write a snapshot first.
    """
    durable = DurableModel(VersionedModel(ProEMLC()), ProEMLC, directory, journal)
    _, newest = next(durable.snapshots.stored(), (0, None))
    if newest is None or any(
            isinstance(entry.record, Event) and entry.record.kind is EventKind.RESET
            for entry in journal.events(after=position_of(newest))):
        raise JournalError(f'{directory.path}: no snapshot tells the settings of the model; start '
                           'the classifier once, which writes one')
    for note in resume(durable).notes:
        show(note)
    return durable


COMMANDS = {'journal': _add_journal}
