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
    """Write text to a file atomically and durably.

    Args:
        path: the file; an existing one is replaced.
        text: its whole content.
    """
    temporary = path.with_name(f'.{path.name}.{os.getpid()}.tmp')
    try:
        with temporary.open('w', encoding='utf-8') as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


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


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: new files and renames."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
