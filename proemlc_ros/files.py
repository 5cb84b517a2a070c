# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Files: written so that a crash leaves the old or the new one, sorted, and values for JSON."""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

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


def natural_key(path: Path) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers in names by their value.

    >>> sorted([Path('b10.png'), Path('b9.png')], key=natural_key)[0].name
    'b9.png'
    """
    return [(0, int(part), '') if part.isdecimal() else (1, 0, part.casefold())
            for part in re.split(r'(\d+)', path.as_posix()) if part]


def without_infinities(value: Any) -> Any:
    """Return a value for JSON, with null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_infinities(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_infinities(part) for part in value]
    return value
