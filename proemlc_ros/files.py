# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writing files so that a crash leaves either the old one or the new one, never half of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# What must be free for the next records.
_PROBE_BYTES = 64 * 1024


def replace_text(path: Path, text: str) -> None:
    """Write text to a file atomically and durably; see `replace_bytes`."""
    replace_bytes(path, text.encode())


def replace_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that a crash at any time leaves the old or the new one, whole.

    An existing file keeps its permissions, a new one gets the usual ones.

    Raises:
        OSError: when it cannot be written; the old file is untouched.
    """
    path = os.path.abspath(path)
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f'.{name}.{os.urandom(4).hex()}.tmp')
    try:
        with open(temporary, 'xb') as stream:
            stream.write(data)
            stream.flush()
            with suppress(FileNotFoundError):
                os.fchmod(stream.fileno(), os.stat(path).st_mode & 0o777)
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def write_problem(folder: Path) -> str:
    """Return why nothing can be written to a folder, in words; empty where it can."""
    probe = folder / '.probe'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with probe.open('wb') as stream:
            stream.write(bytes(_PROBE_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        probe.unlink()
    except OSError as error:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
        return str(error)
    return ''


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make the names in a folder durable: new files and renames."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
