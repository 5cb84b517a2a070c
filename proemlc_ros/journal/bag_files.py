# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a journal: known by their content, appended durably, repaired on opening.

Entries are numbered from 1 on, through all files, in the order in which they were written; their
timestamps rise strictly, so that readers which sort by time see the same order.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from proemlc_ros.journal.entries import (
    ENTRY_TYPES,
    EntryRecord,
    Judge,
    Pair,
    Row,
    digest_of,
    is_valid_entry,
    numbers_in_words,
    records_of,
)
from proemlc_ros.journal.metadata import (
    NO_TIME,
    BagTopic,
    Expected,
    are_current,
    are_whole,
    new_topics,
    read_metadata,
    write_metadata,
)
from proemlc_ros.journal.salvage import (
    Examined,
    FileReport,
    examine,
    rebuild,
    stale_logs,
    unused_name,
)
from proemlc_ros.journal.sqlite_file import AT_ONCE, SqliteFile


class _Peek(NamedTuple):
    """A first look at a file.

    Args:
        path: the file.
        is_journal: whether it is one of a journal; None where that cannot be told.
        first: number of the first entry; 0 without any.
        record: of the first entry.
        time: of the first entry, in nanoseconds; None where not known.
    """

    path: Path
    is_journal: bool | None = None
    first: int = 0
    record: EntryRecord | None = None
    time: int | None = None

    @classmethod
    def at(cls, path: Path) -> _Peek:
        """Look at a file, which may be anything."""
        try:
            if not path.stat().st_size:
                return cls(path)
            with closing(SqliteFile(path, read_only=True)) as file:
                if not file.is_journal(ENTRY_TYPES):
                    return cls(path, False)
                first = file.first_number()
                return cls(path, True, first, file.record(first), file.first_time())
        except Exception:  # Damaged content raises what it likes; a rollback may be due.
            return cls(path)

    def is_in(self, expected: Expected) -> bool:
        """Tell whether the metadata lists the file."""
        return expected.lists(self.path.name, self.time)

    @property
    def number(self) -> int:
        """Number at the end of the name; -1 without any."""
        found = re.search(r'(\d+)$', self.path.stem)
        return int(found[1]) if found else -1


def journal_files(folder: Path, expected: Expected | None = None) -> list[_Peek]:
    """Return the files of a folder by the numbers of their entries.

    One without entries comes behind the file that comes before it by the number in its name.

    Args:
        folder: of the journal.
        expected: by its metadata; files in it come before others with the same entries.
    """
    known = read_metadata(folder) if expected is None else expected
    peeks = sorted(map(_Peek.at, folder.glob('*.db3')),
                   key=lambda peek: (peek.number, peek.path.name))
    keys, before = {}, 0
    for peek in peeks:
        before = peek.first or before
        keys[peek] = before, not peek.first, not peek.is_in(known)
    return sorted(peeks, key=keys.__getitem__)


def is_journal(folder: Path) -> bool:
    """Tell whether a folder is one of a journal, by what is in it."""
    files = [_Peek.at(path) for path in folder.glob('*.db3')] if folder.is_dir() else []
    return any(peek.is_journal for peek in files) or (
        bool(files) and read_metadata(folder).head is not None)


class BagFiles:
    """The files of a journal, open for appending; one process at a time, one thread at a time.

    Opening repairs what is damaged. Where the disk does not allow that, or any writing, the files
    can be read as far as possible, and `problem` tells why nothing can be appended.

    Args:
        folder: made where it does not exist.
        node_name: fully qualified; new topics are named after it.
        max_file_bytes: size above which a new file is begun.
        read_only: change nothing; what is damaged is salvaged in memory.
        thorough: check the structure of files that can be read, too.
        progress: called with 1 after each entry that is read on opening.

    Attributes:
        problem: why nothing can be appended, in words; empty where it can.
        repairs: what was found or repaired on opening, in words.
        notes: those of the repairs that are not about the content of one file.
        files: what each file holds, oldest first, and what was found in it on opening.
        last: number of the last entry; 0 without any.
        head: chain value of the last entry; None where not known.
        in_doubt: whether it is not known what the last append has written.

    Raises:
        OSError, sqlite3.Error: the disk fails; only with read_only.
    """

    def __init__(self, folder: Path, node_name: str = '/proemlc', max_file_bytes: int = 2**26,
                 read_only: bool = False, thorough: bool = True,
                 progress: Callable[[int], None] = lambda _: None) -> None:
        self.folder = folder
        self.max_file_bytes = max_file_bytes
        self.problem = ''
        self.repairs: list[str] = []
        self.notes: list[str] = []
        self.files: list[FileReport] = []
        self.last = 0
        self.head: bytes | None = None
        self.in_doubt = False
        self._node_name = node_name
        self._read_only, self._thorough, self._progress = read_only, thorough, progress
        self._judge = Judge(is_valid_entry)
        # Whether the newest file has earlier definitions; whether files have different ones.
        self._outdated = self._mixed = False
        self._known_topics: list[BagTopic] = []
        self._file: SqliteFile | None = None
        # Content of files that cannot be read from the disk as they are, by name.
        self._in_memory: dict[str, Examined] = {}
        try:
            self._open()
        except (OSError, sqlite3.Error) as error:
            if read_only:
                raise
            self._block(error)

    # ----- opening -----

    def _open(self) -> None:
        if not self._read_only:
            self.folder.mkdir(parents=True, exist_ok=True)
        elif not self.folder.is_dir():
            raise FileNotFoundError('there is no such folder')
        expected = read_metadata(self.folder)
        peeks = self._own(journal_files(self.folder, expected), expected)
        self._known_topics = _topics_in(peeks)
        self._outdated = bool(self._known_topics) and not are_current(self._known_topics)
        hashes = set()
        for peek, following in pairwise([*peeks, None]):
            if peek is not None and not self._is_foreign(peek, expected):
                hashes.update(self._take(peek.path, following and following.record))
        self._mixed = len(hashes) > len({type_name for type_name, _ in hashes})
        self.last, self.head = self._judge.last, self._judge.chain if self._judge.last else None
        self._count_unproven()
        self._compare(expected)
        if not self._read_only:
            if not self.files:
                path = self._new_path()
                SqliteFile.create(path, self.topics).close()
                self.files.append(FileReport(path.name))
            if not self.problem:
                self._file = SqliteFile(self.folder / self.files[-1].name)
            self.write_metadata()

    def _own(self, peeks: list[_Peek], expected: Expected) -> list[_Peek]:
        """Return the files that are a journal's, or may have been."""
        for peek in peeks:
            if peek.is_journal is False and not peek.is_in(expected):
                self._note(f'{peek.path.name} is not a journal file; it is left alone')
        return [peek for peek in peeks if peek.is_journal is not False or peek.is_in(expected)]

    def _is_foreign(self, peek: _Peek, expected: Expected) -> bool:
        """Tell whether a file that is not listed beside others that are is of another journal."""
        if (peek.is_in(expected) or peek.record is None
                or not any(file.name in expected.files for file in self.files)):
            return False
        foreign = not self._judge.links(peek.record) or (
            self.chain(peek.first) not in (None, peek.record.chain))
        if foreign:
            self._note(f'{peek.path.name} is of another journal; it is left alone')
        return foreign

    def _take(self, path: Path, following: EntryRecord | None) -> set[tuple[str, str]]:
        """Examine a file, repair it if need be; return types and hashes of its topics."""
        found = self._examined(path, following)
        if found is None:
            return set()
        self._judge = found.judge
        self.files.append(found.report)
        if found.report.needs_repair:
            self._repair(path, found)
        elif found.pairs is not None:
            self._in_memory[path.name] = found
        if found.report.unprovable and are_current(found.topics):
            self._note(f'{path.name}: {found.report.unprovable} entries have no proof, as if an '
                       'earlier version had written them')
        if found.report.unlinked:
            self._note(f'{path.name}: entries {numbers_in_words(found.report.unlinked)} do not '
                       'follow the ones before them; something was replaced or its proof is '
                       'damaged')
        return {(topic.type, topic.type_hash) for topic in found.topics or self.topics}

    def _examined(self, path: Path, following: EntryRecord | None) -> Examined | None:
        if not self._read_only:
            try:
                for log in stale_logs(path):
                    kept = log.rename(unused_name(log, '.unused'))
                    self._note(f'{log.name} belongs to another state of {path.name}; it was not '
                               f'applied and is kept as {kept.name}')
                return examine(path, self._judge, following, progress=self._progress)
            except (OSError, sqlite3.Error) as error:
                self._block(error)
        try:
            found = examine(path, self._judge, following, True, self._thorough, self._progress)
        except FileNotFoundError:  # Dropped meanwhile: the snapshots hold it.
            return None
        if found.pairs is not None:
            for log in stale_logs(path):
                self._note(f'{log.name} belongs to another state of {path.name}; it is not '
                           'applied')
        return found

    def _repair(self, path: Path, found: Examined) -> None:
        words, kept = found.report.in_words(), path
        try:
            if self._read_only or self.problem:
                raise OSError('it is only read' if self._read_only else self.problem)
            kept = rebuild(path, found.topics or self.topics, found)
            self.repairs.append(f'{words}; the damaged file is kept as {kept.name}')
        except (OSError, sqlite3.Error) as error:
            if not self._read_only:
                self._block(error)
            self._in_memory[path.name] = found
            self.repairs.append(f'{words}; it is not repaired on this disk now ({error})')
        if found.report.unproven:
            self.repairs.append(
                f'{path.name}: entries {numbers_in_words(found.report.unproven)} have no proof '
                f'though earlier ones do; they are set aside in {kept.name}')

    def _count_unproven(self) -> None:
        """Use no number again of an entry that was set aside."""
        unproven = {number for file in self.files for number in file.unproven}
        while self.last + 1 in unproven:
            self.last, self.head = self.last + 1, None

    def _compare(self, expected: Expected) -> None:
        """Say what should be there by the metadata and is not; go on behind it."""
        if expected.problem and self.files:
            self._note(f'{expected.problem}; it is made again')
        for name in self._absent(expected):
            self._note(f'{name} is missing')
        if expected.held > self.last:
            self._note(f'the journal ended with entry {expected.held}, its files end with entry '
                       f'{self.last}; what is between is lost')
        if expected.last > self.last:
            self.last, self.head = expected.last, expected.head
        elif expected.head is not None and any(
                expected.last in part for file in self.files for part in file.numbers):
            chain = self.chain(expected.last)
            if chain is None:
                self._note(f'the proof of entry {expected.last} is gone')
            elif chain != expected.head:
                self._note(f'entry {expected.last} is not the one that metadata.yaml knows; the '
                           'journal was changed or replaced')

    def _absent(self, expected: Expected) -> Iterator[str]:
        """Yield the files that are listed and not there under any name."""
        names = {file.name for file in self.files}
        renamed = [file.first_time for file in self.files if file.name not in expected.files]
        for name, time in expected.files.items():
            if name not in names:
                same = [found for found in renamed if time in (found, NO_TIME)]
                if same:
                    renamed.remove(same[0])
                elif name in read_metadata(self.folder).files:  # Not dropped meanwhile.
                    yield name

    def _note(self, text: str) -> None:
        self.repairs.append(text)
        self.notes.append(text)

    def _block(self, error: Exception) -> None:
        self.problem = self.problem or str(error)

    @property
    def topics(self) -> list[BagTopic]:
        """Topics of the newest file."""
        if not self._known_topics:
            self._known_topics = new_topics(self._node_name)
        return self._known_topics

    def gaps(self) -> list[range]:
        """Return the numbers up to the last one that no file has."""
        held = [part for file in self.files for part in file.numbers]
        ends = [range(1), *held, range(self.last + 1, self.last + 2)]
        return [range(first.stop, second.start) for first, second in pairwise(ends)
                if first.stop < second.start]

    # ----- writing -----

    def append(self, messages: Sequence[tuple[int, bytes]], now: int,
               references: Sequence[str]) -> list[tuple[int, int]]:
        """Write messages in one transaction; they are on the disk when this returns.

        Args:
            messages: number of the topic and CDR bytes of each.
            now: nanoseconds since the epoch.
            references: kept with the messages, one each.

        Returns:
            Number and time of each.

        Raises:
            OSError, sqlite3.Error: nothing was written, unless the files are `in_doubt`: then
                what was written is withdrawn before the next message.
        """
        if not messages:
            return []
        file = self._file or self._reopen()
        if file.size > self.max_file_bytes or self._outdated:
            file = self.begin_file()
        last_time = max((part.last_time or 0 for part in self.files), default=0)
        start = max(now, last_time + 1)
        rows: list[Row] = [(self.last + 1 + offset, topic, start + offset, data)
                           for offset, (topic, data) in enumerate(messages)]
        records = records_of(rows, references, self.head)
        try:
            file.append(rows, records)
        except (OSError, sqlite3.Error):
            # The error may have come behind the commit.
            file.close()
            self._file, self.in_doubt = None, True
            # Not to be kept: where the disk fails, SQLite opens it as one that is only read.
            with closing(SqliteFile(file.path)) as written:
                found = written.row(rows[-1][0]) == rows[-1]
            self.in_doubt = False
            if not found:
                raise
        for row in rows:
            self.files[-1].add(row)
        self.last, self.head = rows[-1][0], records[-1].chain
        return [(row[0], row[2]) for row in rows]

    def begin_file(self) -> SqliteFile:
        """Begin the next file."""
        file = self._file or self._reopen()
        if self._outdated:
            # The definitions of this version; the topics that there are keep their names.
            names = {topic.type: topic.name for topic in self.topics}
            self._known_topics = [replace(topic, name=names.get(topic.type, topic.name))
                                  for topic in new_topics(self._node_name)]
            self._outdated, self._mixed = False, True
        following = SqliteFile.create(self._new_path(), self.topics)
        file.close()
        self._file = following
        self.files.append(FileReport(following.path.name))
        self.write_metadata()
        return following

    def continue_after(self, number: int) -> None:
        """Number new entries above this."""
        if number > self.last:
            self.last, self.head = number, None

    def drop_oldest(self, max_bytes: int, up_to: int) -> int:
        """Delete the oldest files while all are larger than they may be; return how many.

        Args:
            max_bytes: size that they may have.
            up_to: number of the last entry that may go.
        """
        dropped = 0
        while (len(self.files) > 1 and self.size() > max_bytes and self.files[0].last <= up_to):
            path = self.folder / self.files.pop(0).name
            # The list first: a journal may lack a file that it does not list.
            self.write_metadata()
            path.unlink()
            dropped += 1
        return dropped

    def size(self) -> int:
        """Return the bytes of all files; one that was deleted meanwhile counts nothing."""
        paths = (self.folder / file.name for file in self.files)
        return sum(path.stat().st_size for path in paths if path.exists())

    def write_metadata(self) -> None:
        """Bring metadata.yaml up to date."""
        # Readers leave out files whose definitions have another hash than the metadata.
        topics = ([replace(topic, type_hash='') for topic in self.topics] if self._mixed
                  else self.topics)
        write_metadata(self.folder, topics, self.files, self.last, self.head)

    def close(self) -> None:
        """Write the metadata and close the file; no entry depends on it."""
        try:
            if not self.problem and not self._read_only:
                self.write_metadata()
        finally:
            if self._file is not None:
                self._file.close()

    def _reopen(self) -> SqliteFile:
        """Open the file again of which it is not known what it holds, and withdraw the rest."""
        file = SqliteFile(self.folder / self.files[-1].name)
        try:
            if next(file.pairs(self.last), None) is not None:
                file.withdraw(self.last)
        except BaseException:
            file.close()
            raise
        self._file, self.in_doubt = file, False
        return file

    def _new_path(self) -> Path:
        """Return the name of the next file: it continues that of the newest."""
        newest = Path(self.files[-1].name).stem if self.files else f'{self.folder.name}_-1'
        stem, _, number = newest.rpartition('_')
        stem, count = (stem, int(number)) if re.fullmatch(r'-?\d+', number) else (newest, 0)
        path = self.folder / f'{stem}_{count + 1}.db3'
        while path.exists():
            count += 1
            path = self.folder / f'{stem}_{count + 1}.db3'
        return path

    # ----- reading -----

    def pairs(self, after: int = 0, topics: Sequence[int] = (),
              at_once: int = AT_ONCE) -> Iterator[Pair]:
        """Yield the entries above `after` that prove themselves; of some topics, or of all."""
        for file in self.files:
            if file.last <= after and file is not self.files[-1]:
                continue
            if file.name in self._in_memory:
                yield from (pair for pair in self._in_memory[file.name].pairs or ()
                            if pair[0][0] > after and (not topics or pair[0][1] in topics))
                continue
            with self._opened(file) as opened:
                for row, record in opened.pairs(after, topics, at_once) if opened else ():
                    if record is None or digest_of(row) == record.digest:
                        yield row, record

    def pair(self, number: int, topics: Sequence[int] = ()) -> Pair | None:
        """Return one entry; None where it is gone, or of another topic."""
        # One at a time: those behind it may be megabytes of pictures.
        found = next(self.pairs(number - 1, topics, at_once=1), None)
        return None if found is None or found[0][0] != number else found

    def references(self, prefix: str, most: int) -> list[tuple[int, str]]:
        """Return number and reference of the newest entries whose reference begins so."""
        found: list[tuple[int, str]] = []
        for file in reversed(self.files):
            if len(found) >= most:
                break
            if file.name in self._in_memory:
                found[:0] = [(row[0], record.reference)
                             for row, record in self._in_memory[file.name].pairs or ()
                             if record is not None and record.reference.startswith(prefix)
                             ][-(most - len(found)):]
            else:
                with self._opened(file) as opened:
                    found[:0] = opened.references(prefix, most - len(found)) if opened else []
        return found

    def chain(self, number: int) -> bytes | None:
        """Return the chain value of an entry; None where not known."""
        for file in self.files:
            if file.name in self._in_memory:
                memory = self._in_memory[file.name]
                records = (*memory.lost, *(record for _, record in memory.pairs or ()))
                record = next((record for record in records
                               if record is not None and record.number == number), None)
            elif file.last < number and file is not self.files[-1]:
                continue
            else:
                with self._opened(file) as opened:
                    record = opened.record(number) if opened else None
            if record is not None:
                return record.chain
        return self.head if number == self.last else None

    @contextmanager
    def _opened(self, file: FileReport) -> Iterator[SqliteFile | None]:
        """Yield a file that can be read; None where that is not possible, or it is gone."""
        path = self.folder / file.name
        if file is self.files[-1] and (self._file is not None or self.in_doubt):
            yield self._file
        elif self._read_only and not path.exists():
            yield None  # Dropped meanwhile: the snapshots hold it.
        else:
            with closing(SqliteFile(path, read_only=True)) as opened:
                yield opened


def _topics_in(peeks: Sequence[_Peek]) -> list[BagTopic]:
    """Return the topics of the newest file whose list of them is whole."""
    for peek in reversed(peeks):
        try:
            with closing(SqliteFile(peek.path, read_only=True)) as file:
                topics = file.topics()
        except Exception:  # Damaged content raises what it likes.
            continue
        if are_whole(topics):
            return topics
    return []
