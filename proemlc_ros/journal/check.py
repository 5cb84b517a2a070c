# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a model directory: journal, snapshots, and the files that entries load.

It only reads, and may run while the classifier does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import JournalError, ModelDirectoryError, ModelFileError
from proemlc_ros.journal.attachments import (
    ATTACHMENTS,
    OLDER_SNAPSHOT,
    SNAPSHOT,
    Attachments,
    names_content,
    position_of,
)
from proemlc_ros.journal.bag_files import BagFiles
from proemlc_ros.journal.entries import EVENT_TOPIC
from proemlc_ros.journal.journal import JOURNAL, Journal
from proemlc_ros.journal.salvage import FileReport


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


def check_directory(directory: Path) -> DirectoryReport:
    """Check everything that a start would read.

    Args:
        directory: of the model, or folder of the journal.

    Raises:
        JournalError: there is no journal, or the disk fails.
    """
    journal = journal_of(directory)
    try:
        files = BagFiles(journal, read_only=True)
        report = DirectoryReport(files.files, files.last)
        report.problems += [problem for file in files.files for problem in _problems_of(file)]
        report.problems += files.notes
        model = model_directory_of(journal, directory)
        if model is not None:
            check_snapshots(model, report, files)
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


def check_snapshots(directory: Path, report: DirectoryReport,
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
