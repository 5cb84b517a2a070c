# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Opening the files of a journal, one after the other: examined, and repaired where damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from proemlc_ros.journal.entries import Pair, numbers_in_words
from proemlc_ros.journal.entry_proof import Judge, Row
from proemlc_ros.journal.journal_file import (
    FileReport,
    Salvage,
    are_topics_of,
    open_examined,
    rebuild,
    salvage,
)
from proemlc_ros.journal.metadata import BagTopic, FileSummary
from proemlc_ros.journal.rollback_file import set_stale_logs_aside
from proemlc_ros.journal.sqlite_file import SqliteFile


class FileOpener:
    """Opens files in their order; each is judged by those before it.

    Args:
        types: message types that each file must have.
        topics: returns the topics of the bag.
        is_valid: tells whether a message without a record is whole.

    Attributes:
        problem: why nothing can be written, in words; empty where it can.
        repairs: what was repaired, in words.
        reports: what was found in each file.
        salvaged: content of files that could not be repaired on this disk, by name.
        last_id: number of the last message.
        last_time: nanoseconds of the last message.
        chain: of the last message, None where not known.
    """

    def __init__(self, types: Sequence[str], topics: Callable[[], list[BagTopic]],
                 is_valid: Callable[[Row], bool]) -> None:
        self.problem = ''
        self.repairs: list[str] = []
        self.reports: list[FileReport] = []
        self.salvaged: dict[str, list[Pair]] = {}
        self.last_id = 0
        self.last_time = 0
        self.chain: bytes | None = None
        self._types = types
        self._topics = topics
        self._is_valid = is_valid

    def open(self, path: Path) -> tuple[SqliteFile | None, FileSummary]:
        """Examine a file, repair it if need be, and go on behind it.

        Returns:
            The open file, None where it cannot be written; and what it holds.

        Raises:
            OSError: it cannot be read at all.
        """
        file, judge = None, self._judge()
        try:
            self.repairs += set_stale_logs_aside(path)
            file, report, judge = open_examined(path, self._judge, self._types)
        except (OSError, sqlite3.Error) as error:
            self.block(error)
            report = FileReport(path.name, f'it cannot be opened ({error})', False)
        if file is None or report.needs_repair:
            if file is not None:
                file.close()
            judge = self._judge()
            salvaged = salvage(path, judge, report)
            report = salvaged.report
            file = self._repaired(path, salvaged)
        self.reports.append(report)
        if report.unlinked:
            self.repairs.append(
                f'{path.name}: entries {numbers_in_words(report.unlinked)} do not follow the ones '
                'before them; something was replaced or its proof is damaged')
        self.last_id, self.chain = judge.last, judge.chain
        self.last_time = max(self.last_time, report.last_time or 0)
        return file, report.summary(self._topics(), judge.last)

    def block(self, error: Exception) -> None:
        """Take note that nothing can be written."""
        self.problem = self.problem or str(error)

    def gaps(self) -> list[range]:
        """Return the numbers up to the last one that no file has."""
        held = [part for report in self.reports for part in report.numbers]
        ends = [range(1), *held, range(self.last_id + 1, self.last_id + 2)]
        return [range(first.stop, second.start) for first, second in pairwise(ends)
                if first.stop < second.start]

    def _judge(self) -> Judge:
        return Judge(self.last_id, self.chain, self._is_valid)

    def _repaired(self, path: Path, salvaged: Salvage) -> SqliteFile | None:
        words = _what_was_salvaged(salvaged.report)
        if not self.problem:
            try:
                kept = rebuild(path, self._topics(), salvaged)
                self.repairs.append(f'{words}; the damaged file is kept as {kept.name}')
                return SqliteFile(path)
            except (OSError, sqlite3.Error) as error:
                self.block(error)
        self.salvaged[path.name] = salvaged.pairs
        self.repairs.append(f'{words}; it cannot be repaired on this disk now ({self.problem})')
        return None


def _what_was_salvaged(report: FileReport) -> str:
    lost = sorted({*report.refuted, *report.missing})
    gone = f'entries {numbers_in_words(lost)} are lost' if lost else 'no entry is known to be lost'
    last = max([0, *lost, *(part[-1] for part in report.numbers)])
    # What stood on pages that are gone altogether has left no trace.
    doubt = '' if report.readable else f'; it cannot be told whether more followed entry {last}'
    return (f'{report.name} was damaged: {report.problem}; {report.usable} messages recovered, '
            f'{gone}{doubt}')


def topics_in(paths: Sequence[Path], types: list[str]) -> list[BagTopic]:
    """Return the topics of the newest file whose list of them is whole."""
    for path in reversed(paths):
        try:
            with closing(SqliteFile(path, read_only=True)) as file:
                topics = file.topics()
        except Exception:  # Damaged content raises what it likes.
            continue
        if are_topics_of(topics, types):
            return topics
    return []
