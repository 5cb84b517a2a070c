# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Content of the model files that journal entries load, kept beside the journal by its hash.

A file name says nothing about what the file held when it was loaded: it may be written again. A
copy, not a link: programs such as cp write into the file that is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from proemlc_ros.errors import ModelDirectoryError
from proemlc_ros.files import sync_folder

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
        if hash_of(path) != path.stem:
            raise ModelDirectoryError(f'{path} is damaged')
        return path

    def has(self, path: Path) -> bool:
        """Tell whether the content of a file is kept."""
        return (self.folder / f'{hash_of(path)}{_ENDING}').is_file()

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


def hash_of(path: Path) -> str:
    """Return the hash of a file, as in references."""
    digest = sha256()
    with path.open('rb') as stream:
        while part := stream.read(_PART):
            digest.update(part)
    return digest.hexdigest()
