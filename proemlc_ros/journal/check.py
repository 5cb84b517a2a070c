# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Check and backup of a model directory: journal, snapshots, and the files that entries load.

Both only read it, and may run while the classifier does.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError, ModelDirectoryError, ModelFileError
from proemlc_ros.journal.bag_files import BagFiles, journal_files
from proemlc_ros.journal.entries import EVENT_TOPIC
from proemlc_ros.journal.journal import (
    ATTACHMENTS,
    JOURNAL,
    OLDER_SNAPSHOT,
    SETTINGS_FILE,
    SNAPSHOT,
    Attachments,
    Journal,
    names_content,
    position_of,
)
from proemlc_ros.journal.salvage import FileReport, readable


@dataclass
class DirectoryReport:
    """What a check found.

    Args:
        files: of the journal, oldest first.
        last: number of the last entry.
        snapshots: name and position of each that is whole.
        gaps: numbers without an entry that not every snapshot holds.
        problems: what is wrong, in words.
    """

    files: list[FileReport] = field(default_factory=list)
    last: int = 0
    snapshots: dict[str, int] = field(default_factory=dict)
    gaps: list[range] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def held_by_all(self) -> int:
        """Number of the last entry that both snapshots hold."""
        return min(self.snapshots.values()) if len(self.snapshots) == 2 else 0


def journal_of(directory: Path) -> Path:
    """Return the journal of a model directory, or that the path itself is.

    Raises:
        JournalError: there is none.
    """
    found = Journal.find(directory)
    if found is not None:
        return found
    # One that is damaged beyond recognition can still be repaired.
    if any((directory / JOURNAL).glob('*.db3')):
        return directory / JOURNAL
    raise JournalError(f'{directory}: no journal in this folder; give the model directory of a '
                       'classifier')


def model_directory_of(journal: Path, path: Path) -> Path | None:
    """Return the model directory of a journal; None where the journal stands alone.

    Args:
        journal: folder of the journal.
        path: by which it was found.
    """
    if path.resolve() == journal.resolve().parent:
        return path
    return journal.resolve().parent if journal.resolve().name == JOURNAL else None


def check_directory(directory: Path,
                    progress: Callable[[int], None] = lambda _: None) -> DirectoryReport:
    """Check everything that a start would read.

    Args:
        directory: of the model, or folder of the journal.
        progress: called with 1 after each entry.

    Raises:
        JournalError: there is no journal, or the disk fails.
    """
    journal = journal_of(directory)
    try:
        files = BagFiles(journal, read_only=True, progress=progress)
        report = DirectoryReport(files.files, files.last)
        report.problems += [problem for file in files.files for problem in _problems_of(file)]
        report.problems += files.notes
        model = model_directory_of(journal, directory)
        if model is not None:
            _check_snapshots(model, report, files)
        report.gaps = [range(max(gap.start, report.held_by_all + 1), gap.stop)
                       for gap in files.gaps() if gap.stop > report.held_by_all + 1]
        references = {record.reference: row[0] for row, record in files.pairs(0, [EVENT_TOPIC])
                      if record is not None and names_content(record.reference)}
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f'cannot read the journal of {directory}: {error}') from error
    _check_attachments(journal, references, report)
    return report


def _problems_of(report: FileReport) -> Iterator[str]:
    if report.problem:
        yield f'{report.name}: {report.problem}'
    for numbers, words in (
            (report.refuted, 'is not what was written'),
            (report.unproven, 'has no proof though earlier ones do'),
            (report.missing, 'is gone'),
            (report.unlinked, 'does not follow the one before it')):
        for number in numbers:
            yield f'{report.name}: entry {number} {words}'
    if report.healed:
        yield f'{report.name}: {report.healed} records are damaged, their entries are not'


def _check_snapshots(directory: Path, report: DirectoryReport,
                     files: BagFiles | None = None) -> None:
    """Note which snapshots are whole, and where they know of more than the journal.

    Args:
        directory: of the model.
        report: gets positions and problems.
        files: of the journal; None: the snapshots are not compared with it.
    """
    for name in (SNAPSHOT, OLDER_SNAPSHOT):
        try:
            model = ProEMLC.load(directory / name)
        except FileNotFoundError:
            continue
        except (ModelFileError, OSError) as error:
            report.problems.append(f'{name}: {error}')
            continue
        position = report.snapshots[name] = position_of(model)
        if files is None:
            continue
        # Earlier versions left no trace of the entries that they dropped.
        if position > files.last > 0:
            report.problems.append(f'{name}: it holds the entries up to {position}, the journal '
                                   f'ends with entry {files.last}')
        chain = files.chain(position)
        if chain is not None and model.extra.get('chain', chain.hex()) != chain.hex():
            report.problems.append(f'{name}: it is of another journal, or entries up to '
                                   f'{position} were changed')


def _check_attachments(journal: Path, references: dict[str, int],
                       report: DirectoryReport) -> None:
    """Check the content that a replay would need.

    Each of them is a whole model, so that the last one supersedes those before it, as far as the
    snapshots hold them.
    """
    attachments = Attachments(journal / ATTACHMENTS)
    last = max(references.values(), default=0)
    for reference, number in sorted(references.items()):
        if number < min(last, report.held_by_all + 1):
            continue
        try:
            attachments.find(reference)
        except ModelDirectoryError as error:
            report.problems.append(str(error))


# ----- backup -----


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
    _check_snapshots(target, report)
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
