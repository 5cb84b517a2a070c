# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of one classifier: model files, snapshots of the model, and the journal."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

from proemlc_ros.classifier.validation import Limits
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import LabelRejectedError, ModelDirectoryError, ModelFileError
from proemlc_ros.journal.attachments import (
    OLDER_SNAPSHOT,
    SNAPSHOT,
    Attachments,
    names_content,
)
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.records import Event

ENDING = '.npz'
BEFORE_RESET = 'before_reset.npz'
_LONGEST_NAME = 200
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
        for path in self.path.glob(f'*{ENDING}'):
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
