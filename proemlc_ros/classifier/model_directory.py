# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of one classifier: model files, snapshots of the model, and the journal."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.journal_protocol import JournalProtocol
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ModelDirectoryError, ModelFileError

ENDING = '.npz'
SNAPSHOT = 'snapshot.npz'
OLDER_SNAPSHOT = 'snapshot_older.npz'
BEFORE_RESET = 'before_reset.npz'
_LONGEST_NAME = 200
# A disk that is full or read-only, or a quota.
_NO_WRITING = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EIO)


class ModelDirectory:
    """A folder that belongs to one running classifier.

    Args:
        path: the folder; made where it does not exist.
        max_file_bytes: size of a model file above which it is not loaded.

    Raises:
        ModelDirectoryError: it cannot be made or written, or another classifier uses it.
    """

    def __init__(self, path: Path, max_file_bytes: int = 2**30) -> None:
        self.path = path
        self.max_file_bytes = max_file_bytes
        self._lock = self._claim()
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
            known = sorted(file.name for file in self.path.glob(f'*{ENDING}'))
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
        if not name.endswith(ENDING):
            name += ENDING
        if (os.path.basename(name) != name or '\\' in name or name.startswith('.')
                or not name.isprintable() or len(name.encode('utf-8', 'replace')) > _LONGEST_NAME):
            raise ModelDirectoryError(
                f'{name[:80]!r} is not a plain file name; give a name without folders, such as '
                "'kitchen.npz'")
        path = self.path / name
        if path.is_symlink():
            raise ModelDirectoryError(f'{name!r} is a link; only files of {self.path} are used')
        return path

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
        os.close(self._lock)

    def _claim(self) -> int:
        try:
            handle = self._open_lock()
        except OSError as error:
            raise ModelDirectoryError(
                f'cannot use the model directory {self.path}: {error.strerror}; set '
                'model_directory to a folder that can be written') from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise ModelDirectoryError(
                f'another classifier uses the model directory {self.path}; stop it, or give '
                'this one its own model_directory') from error
        return handle

    def _open_lock(self) -> int:
        path = self.path / '.lock'
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno not in _NO_WRITING or not self.path.is_dir():
                raise
            # What can be read is used; the folder itself serves as the lock.
            return os.open(path if path.exists() else self.path, os.O_RDONLY | os.O_CLOEXEC)


class Snapshots:
    """The snapshots of a model directory; `position` is the last entry that the newest holds.

    Args:
        directory: where they are.
        journal: learns which entries need not be replayed any more.
        clock: nanoseconds since the epoch.
    """

    def __init__(self, directory: ModelDirectory, journal: JournalProtocol,
                 clock: Callable[[], int]) -> None:
        self.position = 0
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
            model.save(self._directory.snapshots[0], extra=extra)
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
            self._older_position = 0 if path == newest else self.position
            return path, model
        return None

    def stored(self) -> Iterator[tuple[int, ProEMLC]]:
        """Yield each snapshot that can be read, newest first, with its position."""
        for path in self._directory.snapshots:
            with suppress(ModelFileError, OSError):
                model = self._load(path)
                yield position_of(model), model

    def _load(self, path: Path) -> ProEMLC:
        return ProEMLC.load(path, max_bytes=self._directory.max_file_bytes)


def position_of(model: ProEMLC) -> int:
    """Return the last entry of the journal that a snapshot holds."""
    position = model.extra.get('position', 0)
    return position if isinstance(position, int) else 0
