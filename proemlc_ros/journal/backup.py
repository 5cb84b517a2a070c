# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Backup of a model directory, also while the classifier runs."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from proemlc_ros.errors import JournalError
from proemlc_ros.journal.attachments import ATTACHMENTS, SETTINGS_FILE
from proemlc_ros.journal.bag_files import journal_files
from proemlc_ros.journal.check import DirectoryReport, check_snapshots, journal_of
from proemlc_ros.journal.journal import JOURNAL
from proemlc_ros.journal.salvage import readable

_ATTEMPTS = 5


def back_up(directory: Path, target: Path) -> int:
    """Copy journal, snapshots and model files so that a classifier can go on from the copy.

    Consistent while the classifier runs: what was learnt before the end of the copy, up to some
    entry, and nothing else.

    Args:
        directory: of the model.
        target: a folder that does not exist or is empty.

    Returns:
        Number of files copied.

    Raises:
        JournalError: the target is in use, or the disk fails.
    """
    source = journal_of(directory)
    if target.exists() and any(target.iterdir()):
        raise JournalError(f'{target}: the folder is not empty; give a new one')
    try:
        for _ in range(_ATTEMPTS):
            copied = _copy_all(directory, source, target)
            if _is_connected(target):
                break
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f'cannot copy {directory} to {target}: {error}') from error
    return copied


def _copy_all(directory: Path, source: Path, target: Path) -> int:
    """Copy the snapshots first, so that the journal goes on behind them."""
    shutil.rmtree(target / JOURNAL, ignore_errors=True)
    (target / JOURNAL).mkdir(parents=True)
    attachments = target / JOURNAL / ATTACHMENTS
    copied = _copy_files(sorted(directory.glob('*.npz')), target)
    copied += _copy_journal(source, target / JOURNAL)
    copied += _copy_files([source / SETTINGS_FILE], target / JOURNAL)
    return copied + _copy_files((source / ATTACHMENTS).glob('*.npz'), attachments)


def _is_connected(target: Path) -> bool:
    """Tell whether the journal goes on where the snapshots end; not if it was just compacted."""
    report = DirectoryReport()
    check_snapshots(target, report)
    firsts = [peek.first for peek in journal_files(target / JOURNAL) if peek.first]
    return not firsts or firsts[0] <= min(report.snapshots.values(), default=0) + 1


def _copy_journal(source: Path, target: Path) -> int:
    copied: list[str] = []
    metadata = 0
    while True:
        # A file may be begun meanwhile; the last one copied may have grown.
        left = [peek.path for peek in journal_files(source) if peek.path.name not in copied[:-1]]
        if metadata and [path.name for path in left] in ([], copied[-1:]):
            return len(copied) + metadata
        # Before the newest file, which then has all that the metadata knows of.
        if copied or not left:
            metadata = _copy_files([source / 'metadata.yaml'], target) or 1
        for path in left:
            try:
                _copy_database(path, target / path.name)
            except FileNotFoundError:
                continue  # Dropped meanwhile: the snapshots hold it.
            if path.name not in copied:
                copied.append(path.name)


def _copy_database(path: Path, target: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(path)
    target.unlink(missing_ok=True)
    with readable(path) as file, closing(
            sqlite3.connect(f'{file.resolve().as_uri()}?mode=ro', uri=True)) as database:
        try:
            with closing(sqlite3.connect(target)) as copy:
                database.backup(copy)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            shutil.copyfile(file, target)  # Damaged; the copy is repaired when it is used.


def _copy_files(paths: Iterable[Path], target: Path) -> int:
    copied = 0
    for path in paths:
        target.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, target / path.name)
            copied += 1
        except FileNotFoundError:
            continue  # Dropped or replaced meanwhile.
    return copied
