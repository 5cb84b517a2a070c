# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of one classifier: model files, snapshots of the model, and the journal.

Of the snapshots there are two: the newest, and the one before it should the newest be damaged.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.validation import MODEL_ENDING, Limits, model_file_name
from proemlc_ros.classifier.versioned_model import Base
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import (
    CorruptModelError,
    LabelRejectedError,
    ModelDirectoryError,
    ModelFileError,
    ProEMLCError,
)
from proemlc_ros.foreign_text import shown
from proemlc_ros.journal.entries import LARGEST_NUMBER, JournalEntry
from proemlc_ros.journal.journal import (
    OLDER_SNAPSHOT,
    SNAPSHOT,
    Attachments,
    Journal,
    names_content,
    position_of,
)
from proemlc_ros.journal.metadata import message_folders
from proemlc_ros.journal.table import Change, SampleTable, TableState
from proemlc_ros.records import Annotation, Event, EventKind

BEFORE_RESET = 'before_reset.npz'
_LARGEST_PARAMETER_FILE = 1_000_000
# A file system that does not lock folders, as NFS.
_NO_LOCKING = (errno.EBADF, errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP)
# A disk that is full or read-only, or a quota.
_NO_WRITING = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EIO)


class ModelDirectory:
    """A folder that belongs to one running classifier.

    Args:
        path: the folder; made where it does not exist.
        max_file_bytes: size of a model file above which it is not loaded.
        key: signs files that are saved, and must have signed those that are loaded; None: none.
        require_signature: whether a file without a signature is not loaded. What the classifier
            itself wrote, snapshots and journal, is resumed without.

    Raises:
        ModelDirectoryError: it cannot be made or written, or another classifier uses it.
    """

    def __init__(self, path: Path, max_file_bytes: int = 2**30, key: bytes | None = None,
                 require_signature: bool = False) -> None:
        self.path = path
        self.max_file_bytes = max_file_bytes
        self.key = key
        self.require_signature = require_signature
        self._locks = self._claim()
        with suppress(OSError):  # On a disk that cannot be written they have to stay.
            for leftover in path.glob('.*.tmp'):  # Of a writer that was killed.
                leftover.unlink(missing_ok=True)

    @property
    def journal(self) -> Path:
        """The journal's folder."""
        return self.path / 'journal'

    @property
    def snapshots(self) -> list[Path]:
        """Where snapshots are, newest first."""
        return [self.path / SNAPSHOT, self.path / OLDER_SNAPSHOT]

    def existing(self, name: str) -> Path:
        """Return the path of a model file that may be loaded.

        Args:
            name: of the file; the ending may be left out, empty means the snapshot.

        Raises:
            ModelDirectoryError: the name is not allowed, or there is no such file of usable size.
        """
        path = self.target(name)
        if not path.is_file():
            known = sorted(file.name for file in self.path.glob(f'*{MODEL_ENDING}'))
            raise ModelDirectoryError(
                f'there is no {path.name!r} in {self.path}; it has '
                f'{", ".join(known[:20]) if known else "no model files"}')
        size = path.stat().st_size
        if size > self.max_file_bytes:
            raise ModelDirectoryError(
                f'{path.name!r} has {size} bytes, more than the {self.max_file_bytes} that '
                'max_model_file_mb allows')
        return path

    def target(self, name: str) -> Path:
        """Return the path of a model file by its name.

        Args:
            name: of the file; the ending may be left out, empty means the snapshot.

        Raises:
            ModelDirectoryError: the name has folders, is hidden, not printable or too long, or
                leads out of the directory by a link.
        """
        if not name:
            return self.path / SNAPSHOT
        name = model_file_name(name)
        path = self.path / name
        if path.is_symlink():
            raise ModelDirectoryError(f'{name!r} is a link; only files of {self.path} are used')
        return path

    def parameter_file(self, name: str) -> Path:
        """Return a parameter file of this folder or of the package's config/, no other.

        Args:
            name: of the file, or its path.

        Raises:
            ModelDirectoryError: it is not a regular file there, or too large. What other files
                there are is not told.
        """
        folders = [self.path, *(folder.parent / 'config' for folder in message_folders())]
        for folder in folders if name else ():
            with suppress(OSError, ValueError, RuntimeError):
                path = (folder / Path(name).expanduser()).resolve()
                if (path.is_relative_to(folder.resolve()) and path.is_file()
                        and path.stat().st_size <= _LARGEST_PARAMETER_FILE):
                    return path
        raise ModelDirectoryError(
            f'{shown(name)} is not a parameter file of the model directory or of the '
            f"package's config/; copy it to {self.path} (at most 1 MB) and give its name")

    @staticmethod
    def require_new(path: Path) -> None:
        """Check that there is no such file yet.

        Raises:
            ModelDirectoryError: there is.
        """
        if path.exists():
            raise ModelDirectoryError(f'{path.name} exists already; overwrite it on purpose, or '
                                      'give another name')

    def files(self) -> list[tuple[str, int, int]]:
        """Return name, bytes and time of change (nanoseconds) of the model files, newest first."""
        found = []
        for path in self.path.glob(f'*{MODEL_ENDING}'):
            if not path.is_symlink():
                with suppress(OSError):  # It may be deleted meanwhile.
                    status = path.stat()
                    found.append((path.name, status.st_size, status.st_mtime_ns))
        return sorted(found, key=lambda file: -file[2])

    def read_model(self, path: Path, limits: Limits, name: str = '') -> ProEMLC:
        """Return the model of a file.

        Its names are taken as they are: an earlier version may have had another label rule.

        Args:
            path: the file.
            limits: bounds on labels.
            name: for errors, where it is not the file's own.

        Raises:
            ModelFileError: the file cannot be used.
            LabelRejectedError: it has too many labels.
        """
        learner = ProEMLC.load(path, self.max_file_bytes, self.key, self.require_signature)
        if len(learner.labels) > limits.max_labels:
            raise LabelRejectedError(
                'too_many_labels', f'{name or path.name} has {len(learner.labels)} labels, more '
                f'than max_labels = {limits.max_labels} allows; raise it')
        return learner

    def read_again(self, entry: JournalEntry, attachments: Attachments) -> ProEMLC:
        """Return the model that a journal entry loaded; no limit rejects what was accepted once.

        Raises:
            ModelDirectoryError: its content is gone or damaged.
        """
        name = entry.record.file_name if isinstance(entry.record, Event) else ''
        try:
            if names_content(entry.reference):
                path = attachments.find(entry.reference)
            else:  # An earlier version wrote it, by name alone; or the reference is lost.
                path = self.existing(name)
                if entry.reference and not attachments.has(path):
                    raise ModelDirectoryError('it is not known any more which content it had')
            return ProEMLC.load(path, max_bytes=max(self.max_file_bytes, path.stat().st_size))
        except (ModelFileError, OSError) as error:
            raise ModelDirectoryError(f'{name}: {error}') from error

    def keep_older_snapshot(self) -> bool:
        """Keep the present snapshot under a second name, before a newer one replaces it.

        Returns:
            Whether it is kept.
        """
        newest, older = self.snapshots
        temporary = older.with_name(f'.{older.name}.tmp')
        temporary.unlink(missing_ok=True)
        try:
            try:
                os.link(newest, temporary)
            except FileNotFoundError:
                return False  # There is none yet.
            except OSError:  # A file system without links.
                shutil.copyfile(newest, temporary)
            temporary.replace(older)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            return False
        return True

    def close(self) -> None:
        """Let another classifier use the folder."""
        for handle in self._locks:
            os.close(handle)

    def _claim(self) -> list[int]:
        """Lock the folder itself, which nobody deletes by hand, and the file of earlier versions.

        Each is enough: some network file systems lock no folders, some disks cannot be written.
        """
        handles: list[int] = []
        try:
            if not self.path.is_dir():
                self.path.mkdir(parents=True, exist_ok=True)
            for path, flags in ((self.path, os.O_RDONLY),
                                (self.path / '.lock', os.O_RDWR | os.O_CREAT)):
                try:
                    handles.append(os.open(path, flags | os.O_CLOEXEC, 0o644))
                    fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    if error.errno not in (*_NO_WRITING, *_NO_LOCKING) or not handles:
                        raise
        except OSError as error:
            for handle in handles:
                os.close(handle)
            if error.errno == errno.EWOULDBLOCK:
                raise ModelDirectoryError(
                    f'another classifier uses the model directory {self.path}; stop it, or give '
                    'this one its own model_directory') from error
            raise ModelDirectoryError(
                f'cannot use the model directory {self.path}: {error.strerror}; set '
                'model_directory to a folder that can be written') from error
        return handles


# ----- snapshots -----


class Snapshots:
    """The snapshots of a model directory.

    Args:
        directory: where they are.
        journal: learns which entries need not be replayed any more.
        clock: nanoseconds since the epoch.

    Attributes:
        position: number of the last entry that the newest one holds.
        version: of the label set of the one that was read.
        time: when the newest one was written, nanoseconds since the epoch.
    """

    def __init__(self, directory: ModelDirectory, journal: Journal,
                 clock: Callable[[], int]) -> None:
        self.position = self.version = 0
        self.time: int | None = None
        self._directory = directory
        self._journal = journal
        self._clock = clock
        self._newest_is_whole = False
        # Of the older snapshot; 0 where there is none, or it was not read.
        self._older_position = 0
        self._lock = threading.Lock()

    @property
    def oldest_position(self) -> int:
        """The last entry that every snapshot holds from which a run may have to begin."""
        return min(self.position, self._older_position)

    def write(self, model: ProEMLC, extra: dict[str, Any]) -> None:
        """Write a snapshot, unless a newer one was written meanwhile.

        Args:
            model: a copy that does not learn any more.
            extra: kept with it; 'position' is the last entry of the journal that it holds.

        Raises:
            OSError, JournalError: the older snapshot is still there.
        """
        with self._lock:
            if extra['position'] < self.position:
                return
            # Where the newest is not whole, the older one is worth more.
            if self._newest_is_whole and self._directory.keep_older_snapshot():
                self._older_position = self.position
            model.save(self._directory.snapshots[0], extra, self._directory.key)
            self._newest_is_whole = True
            self.position, self.time = extra['position'], self._clock()
        self._journal.checkpoint(self.oldest_position)

    def read(self, notes: list[str]) -> tuple[Path, ProEMLC] | None:
        """Return the newest snapshot that is whole, or None without any.

        Args:
            notes: gets a line for each that cannot be used.
        """
        newest, older = self._directory.snapshots
        for path in (newest, older):
            try:
                model = self._load(path)
                self.time = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            except (ModelFileError, OSError) as error:
                notes.append(f'{path.name} cannot be used: {error}')
                continue
            self._newest_is_whole = path == newest
            self.position = position_of(model)
            self.version = int(model.extra.get('label_set_version', 0))
            self._older_position = 0 if path == newest else self.position
            return path, model
        return None

    def stored(self) -> Iterator[tuple[int, ProEMLC]]:
        """Yield each snapshot that can be read, newest first, with its position."""
        for path in self._directory.snapshots:
            with suppress(ModelFileError, OSError):
                model = self._load(path)
                yield position_of(model), model

    def bases(self, table: SampleTable, new_learner: Callable[[], ProEMLC]) -> Iterator[Base]:
        """Yield what the model of a table may be learnt from, the shortest way first.

        Args:
            table: of this journal.
            new_learner: makes an untaught learner.
        """
        state = table.state
        for position, learner in self.stored():
            before = table.at(position)
            if ((before.origin, before.layer) == (state.origin, state.layer)
                    and self.agrees(learner, table, before)):
                yield Base(learner.copy, table.since(position, before), before)
        everything = Change(added=state.samples)
        entry = self._journal.entry(state.layer) if state.layer else None
        if entry is not None:
            before = table.at(state.layer)
            read = partial(self._directory.read_again, entry, self._journal.attachments)
            yield Base(read, table.since(state.layer, before), before)
            if table.base is None and not table.forgotten:
                # The renewed layer stays, and learns all samples again.
                yield Base(partial(_emptied, read), everything, TableState())
        elif not state.layer and not table.forgotten:
            yield Base(new_learner, everything, TableState())

    def agrees(self, learner: ProEMLC, table: SampleTable, before: TableState) -> bool:
        """Tell whether a snapshot has as many samples as the journal gives, where that is known.

        An earlier version read an undo behind a load of its own snapshot in another way.

        Args:
            learner: of the snapshot.
            table: of the journal.
            before: what was in force at its position.
        """
        origin = table.steps.get(before.origin)
        return bool(learner.samples == len(before.samples) or table.forgotten
                    or origin is not None and origin.kind is EventKind.LOAD
                    or self._journal.missing())

    @staticmethod
    def not_learnt(model: ProEMLC) -> list[int]:
        """Return the numbers of entries that the model of a snapshot has rejected."""
        numbers = model.extra.get('not_learnt')
        return [number for number in numbers if isinstance(number, int)] if isinstance(
            numbers, list) else []

    def _load(self, path: Path) -> ProEMLC:
        model = ProEMLC.load(path, max_bytes=self._directory.max_file_bytes)
        _check_extra(model.extra)
        return model


def learnt_extractor(path: Path) -> str:
    """Return what made the features that the model of a directory has learnt; empty: not known.

    For programs beside the classifier, which may be running; nothing is changed.
    """
    found, position = '', 0
    for snapshot in (path / OLDER_SNAPSHOT, path / SNAPSHOT):
        with suppress(ProEMLCError, OSError):
            model = ProEMLC.load(snapshot)
            found, position = str(model.extra.get('extractor') or ''), position_of(model)
    with suppress(ProEMLCError, OSError):
        folder = Journal.find(path)
        entries = Journal(folder, read_only=True).entries(position) if folder else ()
        for record in (entry.record for entry in entries):
            if isinstance(record, Annotation):
                found = record.extractor or found
            elif isinstance(record, Event) and record.kind is EventKind.RESET:
                found = ''
    return found


def _check_extra(extra: dict[str, Any]) -> None:
    """Check what a snapshot keeps beside the model; a checksum does not prove who wrote it.

    Raises:
        CorruptModelError: a value is not what a snapshot has there.
    """
    numbers = [extra.get(name, 0) for name in ('position', 'label_set_version')]
    entries = extra.get('lessons', [])
    if not isinstance(entries, list) or not all(
            isinstance(entry, list) and len(entry) == 4 for entry in entries):
        raise CorruptModelError('the annotations that can be undone are not a list of entries')
    names = [names for _, *lists in entries for names in lists]
    if not all(type(number) is int and 0 <= number <= LARGEST_NUMBER
               for number in (*numbers, *(entry[0] for entry in entries))):
        raise CorruptModelError('position, version or entry is not a number')
    if not all(isinstance(some, list) and all(isinstance(name, str) for name in some)
               for some in names):
        raise CorruptModelError('the labels of an annotation are not names')


def _emptied(read: Callable[[], ProEMLC]) -> ProEMLC:
    """Return a model with the layer of another one that has learnt nothing."""
    model = read()
    empty = model.empty_copy()
    empty.extra.update(model.extra)
    return empty
