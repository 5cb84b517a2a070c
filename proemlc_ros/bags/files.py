# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which files make up a recording, and what to do when one of them is missing or damaged."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from proemlc_ros.bags.salvage import is_damaged, salvaged
from proemlc_ros.bags.write_ahead import has_pending_writes, merged_copy
from proemlc_ros.errors import BagError

METADATA = 'metadata.yaml'
SUFFIXES = ('.db3', '.mcap')


def paths_to_open(
    path: Path, best_effort: bool, notes: list[str], stack: ExitStack
) -> list[Path]:
    """Return what to open for a recording: its folder, or storage files.

    Args:
        path: A rosbag2 folder or a storage file.
        best_effort: Use what is readable of a damaged one.
        notes: Gets a line for everything that is not as it should be.
        stack: Gets the removal of temporary copies.

    Raises:
        BagError: There is no recording, or it is damaged and the best effort was not asked for.

    """
    if not path.exists():
        raise BagError(f'{path}: no such recording')
    files = storage_files(path)
    whole = path.is_dir() and (path / METADATA).is_file()
    if path.is_dir() and not whole:
        note = f'{METADATA} is missing'
        if not best_effort:
            raise BagError(f'{path}: {note}; use --best-effort to read its storage files')
        notes.append(f'{note}; topics and counts were taken from the storage files')
    damaged = [file for file in files if best_effort and is_damaged(file)]
    pending = [file for file in files if has_pending_writes(file)]
    if not damaged and not pending:
        return [path] if whole else files
    folder = Path(stack.enter_context(TemporaryDirectory(prefix='proemlc_bag_')))
    return [
        salvaged(file, folder, notes) if file in damaged
        else merged_copy(file, folder) if file in pending
        else file
        for file in files
    ]


def storage_files(path: Path) -> list[Path]:
    """Return the storage files of a recording in the order they were written in.

    Raises:
        BagError: There are none.

    """
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise BagError(f'{path}: not a recording; expected a rosbag2 folder, .db3 or .mcap')
        return [path]
    files = [file for file in path.iterdir() if file.suffix in SUFFIXES]
    if not files and not any(file.name.endswith('.zstd') for file in path.iterdir()):
        raise BagError(f'{path}: no recording in this folder (no .db3 or .mcap file)')
    return sorted(files, key=_natural)


def _natural(file: Path) -> list[object]:
    """Sort bag_10 behind bag_9."""
    parts = re.split(r'(\d+)', file.name)
    return [int(part) if part.isdigit() else part for part in parts]
