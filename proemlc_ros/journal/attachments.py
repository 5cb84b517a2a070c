# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What lies beside the files of the journal: model files, settings, names of the snapshots.

Model files that entries load are kept by their hash. A file name says nothing about what the file
held when it was loaded: it may be written again. A copy, not a link: programs such as cp write
into the file that is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.errors import ModelDirectoryError, ParameterError
from proemlc_ros.files import replace_text, sync_folder

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
