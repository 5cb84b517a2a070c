# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a model directory: journal, snapshots, and the files that entries load.

It only reads, and may run while the classifier does.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from proemlc_ros.classifier.model_directory import OLDER_SNAPSHOT, SNAPSHOT
from proemlc_ros.classifier.snapshots import position_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError, ModelDirectoryError, ModelFileError
from proemlc_ros.journal.attachments import Attachments, names_content
from proemlc_ros.journal.entry_proof import Judge, Row
from proemlc_ros.journal.journal_file import FileReport, examine
from proemlc_ros.journal.rollback_file import has_stale_rollback
from proemlc_ros.journal.sqlite_file import SqliteFile

JOURNAL = 'journal'
ATTACHMENTS = 'attachments'


@dataclass
class DirectoryReport:
    """What a check found.

    Args:
        files: of the journal, oldest first.
        last: number of the last entry.
        snapshots: name and position of each that is whole.
        problems: what is wrong, in words.
    """

    files: list[FileReport] = field(default_factory=list)
    last: int = 0
    snapshots: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def gaps(self) -> list[range]:
        """Numbers without an entry that not every snapshot holds."""
        held = [part for report in self.files for part in report.numbers]
        ends = [range(self.held_by_all + 1), *(
            range(max(part.start, self.held_by_all + 1), part.stop) for part in held
            if part.stop > self.held_by_all + 1), range(self.last + 1, self.last + 2)]
        return [range(first.stop, second.start) for first, second in pairwise(ends)
                if first.stop < second.start]

    @property
    def held_by_all(self) -> int:
        """Number of the last entry that both snapshots hold."""
        return min(self.snapshots.values()) if len(self.snapshots) == 2 else 0


def journal_files(folder: Path) -> list[Path]:
    """Return the files of a journal, oldest first."""
    pattern = re.compile(re.escape(folder.name) + r'_(\d+)\.db3')
    numbered = [(int(found[1]), path) for path in folder.iterdir()
                if (found := pattern.fullmatch(path.name))]
    return [path for _, path in sorted(numbered)]


def check_directory(directory: Path, types: Sequence[str],
                    is_valid: Callable[[Row], bool]) -> DirectoryReport:
    """Check everything that a start would read.

    Args:
        directory: of the model.
        types: message types of the journal.
        is_valid: tells whether an entry without a record is whole.

    Raises:
        JournalError: there is no journal, or the disk fails.
    """
    report = DirectoryReport()
    references: dict[str, int] = {}
    try:
        judge = Judge(0, None, is_valid)
        for path in journal_files(journal_of(directory)):
            with readable(path) as file:
                found, judge = _examined(file, judge, types, is_valid, references)
            found.name = path.name
            report.files.append(found)
            report.problems += _problems_of(found)
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f'cannot read the journal of {directory}: {error}') from error
    report.last = judge.last
    check_snapshots(directory, report)
    _check_attachments(directory, references, report)
    return report


def _examined(path: Path, before: Judge, types: Sequence[str], is_valid: Callable[[Row], bool],
              references: dict[str, int]) -> tuple[FileReport, Judge]:
    judge = Judge(before.last, before.chain, is_valid)
    if path.stat().st_size == 0:
        return FileReport(path.name, 'it is empty'), judge
    try:
        with closing(SqliteFile(path, read_only=True)) as file:
            found = examine(file, judge, types)
            if not found.problem:
                references.update((record.reference, record.number) for record in file.records()
                                  if names_content(record.reference))
            return found, judge
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        return FileReport(path.name, f'it cannot be opened ({error})'), judge


def _problems_of(report: FileReport) -> Iterator[str]:
    if report.problem:
        yield f'{report.name}: {report.problem}'
    for numbers, words in ((report.refuted, 'is not what was written'),
                           (report.missing, 'is gone'),
                           (report.unlinked, 'does not follow the one before it')):
        for number in numbers:
            yield f'{report.name}: entry {number} {words}'
    if report.healed:
        yield f'{report.name}: {report.healed} records are damaged, their entries are not'


def check_snapshots(directory: Path, report: DirectoryReport) -> None:
    """Note which snapshots are whole."""
    for name in (SNAPSHOT, OLDER_SNAPSHOT):
        try:
            report.snapshots[name] = position_of(ProEMLC.load(directory / name))
        except FileNotFoundError:
            continue
        except (ModelFileError, OSError) as error:
            report.problems.append(f'{name}: {error}')


def _check_attachments(directory: Path, references: dict[str, int],
                       report: DirectoryReport) -> None:
    """Check the content that a replay would need.

    Each of them is a whole model, so that the last one supersedes those before it, as far as the
    snapshots hold them.
    """
    attachments = Attachments(journal_of(directory) / ATTACHMENTS)
    last = max(references.values(), default=0)
    for reference, number in sorted(references.items()):
        if number < min(last, report.held_by_all + 1):
            continue
        try:
            attachments.find(reference)
        except ModelDirectoryError as error:
            report.problems.append(str(error))


def journal_of(directory: Path) -> Path:
    """Return the journal of a model directory.

    Raises:
        JournalError: there is none.
    """
    folder = directory / JOURNAL
    if not folder.is_dir():
        raise JournalError(f'{directory}: no journal in this folder; give the model directory of '
                           'a classifier')
    return folder


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """Yield a file that can be read without a change to the journal.

    That is the file itself. After a crash, a transaction that was cut off is rolled back in a
    copy; while the classifier runs, SQLite's locks tell that it is not cut off.
    """
    log = path.with_name(f'{path.name}-journal')
    if not log.is_file() or not log.stat().st_size or _is_being_written(path):
        yield path
        return
    with TemporaryDirectory(prefix='proemlc_journal_') as name:
        copy = Path(name, path.name)
        shutil.copyfile(path, copy)
        if not has_stale_rollback(path):
            shutil.copyfile(log, copy.with_name(log.name))
            with closing(sqlite3.connect(copy)) as database:
                database.execute('SELECT count(*) FROM sqlite_master').fetchone()
        yield copy


def _is_being_written(path: Path) -> bool:
    with closing(sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True)) as database:
        try:
            database.execute('SELECT count(*) FROM sqlite_master').fetchone()
        except sqlite3.Error:
            return False  # A log that has to be applied, which reading alone must not.
    return True
