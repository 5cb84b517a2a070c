# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The journal: all annotations and events of a model, in order, as an ordinary rosbag2.

Annotations carry their features, so that a new classifier that replays the journal learns the
same, and the journal can be evaluated like any bag. Each entry has a record beside it that proves
it, see entries.py.

Beside the files lie the settings of the model, and the model files that entries load, kept by
their hash: a file name says nothing about what the file held when it was loaded. A copy, not a
link: programs such as cp write into the file that is there.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from proemlc_ros.cdr import read_picture
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.errors import JournalError, ModelDirectoryError, ParameterError
from proemlc_ros.files import replace_text, sync_folder, write_problem
from proemlc_ros.journal.bag_files import BagFiles, is_journal
from proemlc_ros.journal.entries import (
    EVENT_TOPIC,
    PICTURE_PREFIX,
    PICTURE_TOPIC,
    RECORD_TOPICS,
    JournalEntry,
    JournalRecord,
    Pair,
    decode,
    encode,
    late_reference,
    pictures_of,
    with_pictures,
)
from proemlc_ros.journal.salvage import FileReport
from proemlc_ros.journal.sqlite_file import AT_ONCE
from proemlc_ros.records import Picture

JOURNAL = 'journal'
"""Folder of the journal in a model directory."""

Result = TypeVar('Result')

_ALL = 2**40
_FEW = 32


class Journal:
    """The journal in a folder, open for appending or only for reading; safe in several threads.

    Opening never fails for what is in the folder: entries that do not prove themselves are left
    out and named in `repairs`. Where the disk allows no writing, the journal can be read, and
    `append` raises until it does.

    Args:
        folder: folder of the bag; made where it does not exist.
        node_name: fully qualified; the topics are named after it.
        max_file_bytes: size of a file above which the next one is begun.
        max_bytes: size of the whole journal above which the oldest files go, 0 for no limit; what
            no snapshot holds yet is never deleted.
        clock: returns nanoseconds since the epoch.
        read_only: change nothing on the disk; a classifier may write meanwhile.
        progress: called with 1 after each entry that is read on opening.

    Attributes:
        last_write: time of the last write in nanoseconds; None: none since the opening.
        problem: why nothing can be written, in words; empty where it can.
        attachments: content of the files that entries load.

    Raises:
        JournalError: there is nothing to read, or the disk fails; only with read_only.
    """

    def __init__(self, folder: Path, node_name: str = '/proemlc',
                 max_file_bytes: int = 64 * 1024 * 1024, max_bytes: int = 0,
                 clock: Callable[[], int] = time.time_ns, read_only: bool = False,
                 progress: Callable[[int], None] = lambda _: None) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.last_write: int | None = None
        self.problem = ''
        self._read_only = read_only
        self._clock = clock
        self._lock = threading.Lock()
        self._new_files = partial(
            BagFiles, folder, node_name,
            # Several files, so that the oldest can go.
            min(max_file_bytes, max_bytes // 4 or max_file_bytes), read_only, not read_only,
            progress)
        self._files = self._guarded('read', self._new_files)
        if not read_only and (error := self._files.problem or write_problem(folder)):
            self.problem = self._in_words('write', error)
        self.attachments = Attachments(folder / ATTACHMENTS)

    @staticmethod
    def find(path: Path) -> Path | None:
        """Return the folder of the journal that a path names; None where it is no journal.

        Args:
            path: the folder itself, a .db3 file in it, a model directory that has one, or the
                folder of `proemlc teach` or `demo`.
        """
        if path.suffix == '.db3' and path.is_file():
            path = path.parent
        if is_journal(path):
            return path
        for folder in (path / JOURNAL, path / 'model' / JOURNAL):
            if is_journal(folder):
                return folder
        found = [folder for folder in (path.iterdir() if path.is_dir() else ())
                 if is_journal(folder)]
        return found[0] if len(found) == 1 else None

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the model, as kept beside the entries; empty where they are not."""
        return read_settings(self.folder)

    @property
    def last_number(self) -> int:
        """Number of the last entry; 0 without any."""
        return self._files.last

    @property
    def head(self) -> bytes | None:
        """Chain value of the last entry; None where not known, or without any."""
        return self._files.head

    def chain(self, number: int) -> bytes | None:
        """Return the chain value of an entry; None where not known."""
        with self._lock:
            return self._guarded('read', lambda: self._files.chain(number))

    @property
    def repairs(self) -> list[str]:
        """What was found or repaired on opening, in words."""
        return self._files.repairs

    @property
    def reports(self) -> list[FileReport]:
        """What was found in each file on opening."""
        return self._files.files

    @property
    def unprovable(self) -> int:
        """Number of entries without a proof, of an earlier version, on opening."""
        return sum(report.unprovable for report in self._files.files)

    @property
    def size(self) -> int:
        """Bytes of all files; a file that was deleted meanwhile counts nothing."""
        return self._files.size()

    @property
    def over_limit(self) -> bool:
        """Whether the journal is larger than it may be."""
        return 0 < self.max_bytes < self.size

    def missing(self, after: int = 0) -> list[range]:
        """Return the numbers above `after` that have no entry, up to the last number."""
        with self._lock:
            return [range(max(gap.start, after + 1), gap.stop) for gap in self._files.gaps()
                    if gap.stop > after + 1]

    def dropped(self) -> int:
        """Return the number of the last entry of those dropped at the beginning; 0: none."""
        return max((gap.stop - 1 for gap in self.missing()[:1] if gap.start == 1), default=0)

    def append(self, records: Sequence[JournalRecord], references: Sequence[str] | None = None,
               pictures: Sequence[Picture | None] | None = None) -> list[int]:
        """Write records in one transaction; they are on the disk when this returns.

        Args:
            records: annotations, with their features, and events.
            references: what events refer to outside the journal, one per record; None: nothing.
            pictures: of what the annotations are about, one per record; None: none.

        Returns:
            The numbers of the entries.

        Raises:
            JournalError: nothing was written, for instance because the disk is full; or it
                cannot be told, and what was written is withdrawn before the next record.
        """
        return [entry.number for entry in self.write(records, references, pictures)]

    def write(self, records: Sequence[JournalRecord], references: Sequence[str] | None = None,
              pictures: Sequence[Picture | None] | None = None) -> list[JournalEntry]:
        """Do the same; return the entries as they are read."""
        everything, notes, places = with_pictures(records, references, pictures)
        written = self._write(everything, notes)
        return [JournalEntry(number, record, notes[place], time=time)
                for (number, time), record, place in zip(
                    (written[place] for place in places), records, places, strict=True)]

    def append_late_picture(self, number: int, picture: Picture) -> int:
        """Write the picture of an annotation that is there already; return its entry's number."""
        (written, _), = self._write([picture], [late_reference(number)])
        return written

    def pictures(self) -> dict[int, int]:
        """Return the entry of the picture of each annotation that has one."""
        return pictures_of(self.references(PICTURE_PREFIX, _ALL))

    def picture(self, entry: int) -> Picture | None:
        """Return the picture of an entry; None where it is gone."""
        pair = self._pair(entry, [PICTURE_TOPIC])
        return None if pair is None else read_picture(pair[0][3])

    def _write(self, records: Sequence[JournalRecord | Picture],
               references: Sequence[str]) -> list[tuple[int, int]]:
        """Write entries; return number and time of each."""
        rows = [*map(encode, records)]
        with self._lock:
            self._make_writable()
            now = self._clock()
            try:
                written = self._files.append(rows, now, references)
            except (OSError, sqlite3.Error) as error:
                self.problem = self._in_words('write', error)
                doubt = ('; it may have been written, and is then withdrawn as soon as the disk '
                         'answers') if self._files.in_doubt else ''
                raise JournalError(self.problem + doubt) from error
            self.problem = ''
            self.last_write = now
        return written

    def retry(self) -> None:
        """Look whether a disk that could not be written can be by now."""
        if not self.problem:
            return
        with self._lock:
            try:
                self._make_writable()
            except JournalError as error:
                self.problem = str(error)
            else:
                error_text = write_problem(self.folder)
                self.problem = self._in_words('write', error_text) if error_text else ''

    def entries(self, after: int = 0) -> Iterator[JournalEntry]:
        """Yield the entries with a number above `after`, in order; pictures are not among them."""
        return self._decoded(after, RECORD_TOPICS)

    def events(self, after: int = 0) -> Iterator[JournalEntry]:
        """Yield the entries above `after` that are events; annotations are not decoded."""
        return self._decoded(after, [EVENT_TOPIC])

    def entry(self, number: int) -> JournalEntry | None:
        """Return one entry; None where it is gone."""
        pair = self._pair(number, RECORD_TOPICS)
        return None if pair is None else decode(pair)

    def select(self, numbers: Iterable[int]) -> Iterator[JournalEntry]:
        """Yield the annotations and events with some numbers, in order; those gone are left out.

        Of many, all between the first and the last are read.
        """
        wanted = sorted({*numbers})
        if len(wanted) <= _FEW:
            yield from (entry for entry in map(self.entry, wanted) if entry is not None)
            return
        chosen = {*wanted}
        for entry in self.entries(wanted[0] - 1):
            if entry.number in chosen:
                yield entry
            if entry.number >= wanted[-1]:
                return

    def _decoded(self, after: int, topics: Sequence[int]) -> Iterator[JournalEntry]:
        while True:
            with self._lock:
                # In parts, since a journal may be larger than the memory.
                some = islice(self._files.pairs(after, topics), AT_ONCE)
                pairs: list[Pair] = self._guarded('read', partial(list, some))
            if not pairs:
                return
            yield from map(decode, pairs)
            after = pairs[-1][0][0]

    def _pair(self, number: int, topics: Sequence[int]) -> Pair | None:
        with self._lock:
            return self._guarded('read', lambda: self._files.pair(number, topics))

    def references(self, prefix: str, most: int) -> list[tuple[int, str]]:
        """Return number and reference of the newest entries with such references, oldest first."""
        with self._lock:
            return self._guarded('read', lambda: self._files.references(prefix, most))

    def continue_after(self, number: int) -> None:
        """Number new entries above this, where a snapshot knows of more than the journal."""
        with self._lock:
            self._files.continue_after(number)

    def checkpoint(self, up_to: int) -> None:
        """Take note of snapshots: delete oldest files above the limit, renew the metadata.

        Args:
            up_to: number of the last entry that every snapshot holds.

        Raises:
            JournalError: the disk fails, or the journal is only read.
        """
        with self._lock:
            self._check_not_read_only()
            if self._files.problem:
                return
            if self.max_bytes:
                self._guarded('shrink', lambda: self._drop(self.max_bytes, up_to))
            self._guarded('update', self._files.write_metadata)

    def compact(self, up_to: int) -> None:
        """Delete all files that hold nothing else than what every snapshot holds.

        Args:
            up_to: number of the last entry that every snapshot holds.

        Raises:
            JournalError: the disk fails; nothing is gone that is not in the snapshots.
        """
        with self._lock:
            self._make_writable()
            if self._files.files[-1].numbers:
                self._guarded('compact', self._files.begin_file)
            self._guarded('compact', lambda: self._drop(0, up_to))

    def _drop(self, max_bytes: int, up_to: int) -> None:
        if self._files.drop_oldest(max_bytes, up_to) and len(self.attachments):
            self.attachments.keep_only(
                record.reference for _, record in self._files.pairs(0, [EVENT_TOPIC])
                if record is not None and names_content(record.reference))

    def close(self) -> None:
        """Bring the metadata up to date and close the files."""
        with self._lock:
            self._guarded('close', self._files.close)

    def _make_writable(self) -> None:
        """Open the files again where they could not be repaired or made on this disk before.

        Raises:
            JournalError: that is still not possible, or the journal is only read.
        """
        self._check_not_read_only()
        if not self._files.problem:
            return
        if error := write_problem(self.folder):
            raise JournalError(self._in_words('write', error))
        last = self._files.last
        self._files = self._new_files()
        self._files.continue_after(last)
        if self._files.problem:
            raise JournalError(self._in_words('write', self._files.problem))

    def _check_not_read_only(self) -> None:
        if self._read_only:
            raise JournalError(f'the journal {self.folder} was opened to be read only')

    def _guarded(self, what: str, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except (OSError, sqlite3.Error) as error:
            raise JournalError(self._in_words(what, error)) from error

    def _in_words(self, what: str, error: object) -> str:
        return (f'cannot {what} the journal {self.folder}: {error}; check the disk for space and '
                'the folder for write permission')


# ----- attachments -----


ATTACHMENTS = 'attachments'
"""Folder of model files in the folder of a journal."""
SETTINGS_FILE = 'settings.json'
"""Settings of the model, in the folder of its journal: needed to learn the same again."""
SNAPSHOT, OLDER_SNAPSHOT = 'snapshot.npz', 'snapshot_older.npz'
"""Snapshots of the model, beside the folder of its journal."""

_PREFIX = 'sha256:'
_ENDING = '.npz'
_PART = 2**20


class Attachments:
    """A folder of files that are named by their content.

    Args:
        folder: made with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, path: Path) -> str:
        """Keep the content of a file; it is on the disk when this returns.

        Args:
            path: the file.

        Returns:
            The reference by which the content is found again.

        Raises:
            OSError: it cannot be read or kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f'.{os.getpid()}.tmp'
        digest = sha256()
        try:
            with path.open('rb') as source, temporary.open('wb') as target:
                while part := source.read(_PART):
                    digest.update(part)
                    target.write(part)
                target.flush()
                os.fsync(target.fileno())
            temporary.replace(self.folder / f'{digest.hexdigest()}{_ENDING}')
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(self.folder)
        return _PREFIX + digest.hexdigest()

    def find(self, reference: str) -> Path:
        """Return the file with the content that a reference names.

        Raises:
            ModelDirectoryError: it is gone, or is not what it was.
        """
        path = self._path(reference)
        if not path.is_file():
            raise ModelDirectoryError(f'{path} is gone')
        if _hash_of(path) != path.stem:
            raise ModelDirectoryError(f'{path} is damaged')
        return path

    def has(self, path: Path) -> bool:
        """Tell whether the content of a file is kept."""
        return (self.folder / f'{_hash_of(path)}{_ENDING}').is_file()

    def keep_only(self, references: Iterable[str]) -> None:
        """Delete the content that nothing refers to any more."""
        needed = {self._path(reference).name for reference in references}
        for path in self.folder.glob(f'*{_ENDING}'):
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob(f'*{_ENDING}'))

    def _path(self, reference: str) -> Path:
        return self.folder / f'{reference.removeprefix(_PREFIX)}{_ENDING}'


def names_content(reference: str) -> bool:
    """Tell whether a reference is one to the content of a file."""
    return reference.startswith(_PREFIX)


def _hash_of(path: Path) -> str:
    """Return the hash of a file, as in references."""
    digest = sha256()
    with path.open('rb') as stream:
        while part := stream.read(_PART):
            digest.update(part)
    return digest.hexdigest()


# ----- settings and snapshots -----


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings into the folder of a journal, where they are not there already.

    Args:
        folder: of the journal.
        settings: of the learner; those left out follow its first features.

    Raises:
        OSError: the disk fails.
    """
    if read_settings(folder) != settings or not (folder / SETTINGS_FILE).exists():
        replace_text(folder / SETTINGS_FILE, json.dumps(dict(settings), indent=1) + '\n')


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder; empty where there are none that this version knows."""
    try:
        values = json.loads((folder / SETTINGS_FILE).read_text(encoding='utf-8'))
        Options.from_dict(values)
        return dict(values)
    except (OSError, ValueError, TypeError, AttributeError, ParameterError):
        return {}


def position_of(model: ProEMLC) -> int:
    """Return the last entry of the journal that a snapshot holds."""
    position = model.extra.get('position', 0)
    return position if isinstance(position, int) else 0
