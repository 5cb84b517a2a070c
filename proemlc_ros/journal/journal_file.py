# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One file of the journal: examined entry by entry, and repaired where it is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from proemlc_ros.journal.entries import Pair
from proemlc_ros.journal.entry_proof import (
    EntryRecord,
    Judge,
    JudgedEntry,
    Row,
    Verdict,
    digest_of,
    merged,
)
from proemlc_ros.journal.metadata import BagTopic, FileSummary
from proemlc_ros.journal.page_scan import ScannedRow, scan
from proemlc_ros.journal.rollback_file import keep_aside
from proemlc_ros.journal.sqlite_file import SqliteFile, is_disk_error

# Numbers begin with 1; others are damaged, and must be seen to be said.
_BELOW_ALL = -2**63


@dataclass
class FileReport:
    """What was found in one file.

    Args:
        name: of the file.
        problem: what is wrong with the file, in words; empty where nothing is.
        readable: whether its structure is whole.
        proven: number of entries that prove themselves.
        unprovable: number of entries without a record.
        refuted: numbers of entries that are not what was written.
        missing: numbers of entries of which only the record is there.
        unlinked: numbers of entries that do not follow the one before.
        healed: number of records that had to be corrected.
        numbers: of all usable entries, as ranges.
        first_time: nanoseconds of the first entry, None without any.
        last_time: nanoseconds of the last entry, None without any.
        by_topic: usable entries by topic number.
    """

    name: str
    problem: str = ''
    readable: bool = True
    proven: int = 0
    unprovable: int = 0
    refuted: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    unlinked: list[int] = field(default_factory=list)
    healed: int = 0
    numbers: list[range] = field(default_factory=list)
    first_time: int | None = None
    last_time: int | None = None
    by_topic: dict[int, int] = field(default_factory=dict)

    @property
    def needs_repair(self) -> bool:
        """Whether the file has to be written again."""
        return bool(self.problem or self.refuted or self.healed)

    @property
    def usable(self) -> int:
        """Number of entries that can be used."""
        return self.proven + self.unprovable

    def count(self, entry: JudgedEntry) -> None:
        """Take note of an entry."""
        if entry.verdict is Verdict.REFUTED:
            self.refuted.append(entry.number)
        elif entry.verdict is Verdict.MISSING:
            self.missing.append(entry.number)
        elif entry.verdict is Verdict.PROVEN:
            self.proven += 1
        else:
            self.unprovable += 1
        self.healed += entry.healed
        if not entry.linked:
            self.unlinked.append(entry.number)
        if entry.usable and entry.row is not None:
            self._count_row(entry.row)

    def _count_row(self, row: Row) -> None:
        number, topic, time, _ = row
        if self.numbers and self.numbers[-1].stop == number:
            self.numbers[-1] = range(self.numbers[-1].start, number + 1)
        else:
            self.numbers.append(range(number, number + 1))
        self.first_time = time if self.first_time is None else min(self.first_time, time)
        self.last_time = time if self.last_time is None else max(self.last_time, time)
        self.by_topic[topic] = self.by_topic.get(topic, 0) + 1

    def summary(self, topics: Sequence[BagTopic], last_id: int) -> FileSummary:
        """Return what the metadata of the bag says about the file."""
        counts = {topic.name: self.by_topic[number] for number, topic in enumerate(topics, 1)
                  if number in self.by_topic}
        return FileSummary(self.name, self.first_time, self.last_time, counts, last_id)


def are_topics_of(topics: Sequence[BagTopic], types: Sequence[str]) -> bool:
    """Tell whether a file's topics are those of the journal; earlier versions lack the last."""
    found = [topic.type for topic in topics]
    return bool(found) and found == list(types[:len(found)])


def examine(file: SqliteFile, judge: Judge, types: Sequence[str]) -> FileReport:
    """Read all of a file and judge its entries.

    Args:
        file: open.
        judge: knows the files before.
        types: message types that the file must have.

    Raises:
        sqlite3.Error, OSError: the disk fails, or somebody else holds the file.
    """
    report = FileReport(file.path.name)
    try:
        if not file.is_sound():
            report.problem, report.readable = 'its structure is damaged', False
        elif not are_topics_of(file.topics(), types):
            report.problem = 'its list of topics is damaged'
        else:
            for entry in judge.judge(file.entries(after=_BELOW_ALL)):
                report.count(entry)
    except Exception as error:  # Damaged content raises what it likes, UnicodeDecodeError too.
        if is_disk_error(error):
            raise
        report.problem, report.readable = f'it cannot be read ({error!r})', False
    return report


@dataclass
class Salvage:
    """What a damaged file still holds.

    Args:
        report: counts of the usable entries, and the numbers of the others.
        pairs: usable entries.
        lost: records of entries that are gone.
    """

    report: FileReport
    pairs: list[Pair] = field(default_factory=list)
    lost: list[EntryRecord] = field(default_factory=list)


def salvage(path: Path, judge: Judge, found: FileReport) -> Salvage:
    """Return every entry of a damaged file that proves itself, from whatever page it is on.

    Args:
        path: the file; it is not changed.
        judge: knows the files before.
        found: by the examination.
    """
    rows, records = scan(path.read_bytes())
    problem = found.problem or 'entries in it are damaged'
    salvaged = Salvage(FileReport(path.name, problem, found.readable))
    by_number = _chosen_records(rows, records)
    for entry in judge.judge(merged(_chosen_rows(rows, by_number),
                                    [by_number[number] for number in sorted(by_number)])):
        salvaged.report.count(entry)
        if entry.usable and entry.row is not None:
            salvaged.pairs.append((entry.row, entry.record))
        elif entry.record is not None:
            salvaged.lost.append(entry.record)
    return salvaged


def rebuild(path: Path, topics: Sequence[BagTopic], salvaged: Salvage) -> Path:
    """Replace a damaged file by one with all that was salvaged.

    Returns:
        Where the damaged file is kept.

    Raises:
        OSError, sqlite3.Error: the damaged file is still in its place.
    """
    rebuilt = path.with_name(f'{path.name}.rebuilt')
    rebuilt.unlink(missing_ok=True)
    with closing(SqliteFile.create(rebuilt, topics)) as target:
        records = [record for _, record in salvaged.pairs if record is not None]
        target.append([row for row, _ in salvaged.pairs],
                      sorted([*records, *salvaged.lost]))
    kept = keep_aside(path, '.damaged')
    # A rollback journal belongs to the damaged file and must not be applied to the new one.
    path.with_name(f'{path.name}-journal').unlink(missing_ok=True)
    rebuilt.replace(path)
    return kept


def open_examined(path: Path, judge: Callable[[], Judge],
                  types: Sequence[str]) -> tuple[SqliteFile | None, FileReport, Judge]:
    """Open a file and examine it.

    Args:
        path: the file.
        judge: makes a judge that knows the files before.
        types: message types that the file must have.

    Returns:
        The open file, None where it is too damaged to be opened; what was found; the judge.

    Raises:
        sqlite3.Error, OSError: the disk fails, or somebody else holds the file.
    """
    judging = judge()
    if path.stat().st_size == 0:
        # SQLite takes it for a new database.
        return None, FileReport(path.name, 'it is empty', False), judging
    try:
        file = SqliteFile(path)
    except Exception as error:
        if is_disk_error(error):
            raise
        return None, FileReport(path.name, f'it cannot be opened ({error!r})', False), judging
    try:
        return file, examine(file, judging, types), judging
    except BaseException:
        file.close()
        raise


def _chosen_records(rows: Iterable[ScannedRow],
                    records: Iterable[EntryRecord]) -> dict[int, EntryRecord]:
    """Return one record per number: where pages have several, the one that fits an entry."""
    chosen: dict[int, EntryRecord] = {}
    doubtful: set[int] = set()
    for record in records:
        if chosen.setdefault(record.number, record) != record:
            doubtful.add(record.number)
    if doubtful:
        by_number: dict[int, list[Row]] = {}
        for scanned in rows:
            by_number.setdefault(scanned.row[0], []).append(scanned.row)
        for record in records:
            if record.number in doubtful and any(
                    digest_of(row) == record.digest
                    for row in by_number.get(record.number, ())):
                chosen[record.number] = record
    return chosen


def _chosen_rows(rows: Iterable[ScannedRow],
                 records: dict[int, EntryRecord]) -> Iterator[Row]:
    """Yield one entry per number, by number: the one that its record proves."""
    candidates: dict[int, list[ScannedRow]] = {}
    for scanned in rows:
        candidates.setdefault(scanned.row[0], []).append(scanned)
    for number in sorted(candidates):
        record = records.get(number)
        proven = (scanned.row for scanned in candidates[number] if record is not None
                  and digest_of(scanned.row) == record.digest)
        certain = (scanned.row for scanned in candidates[number] if scanned.certain)
        row = next(proven, None) or next(certain, None)
        if row is not None:
            yield row
