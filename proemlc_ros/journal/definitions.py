# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Definitions of our messages for a bag, from the .msg files, without the library rosbags.

A robot's classifier needs them for a new journal; only the tools for bags need the library.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from proemlc_ros.errors import BagError

_PACKAGE = 'proemlc_ros'
_SEPARATOR = '=' * 80
_HASH = re.compile('RIHS01_[0-9a-f]{64}')
# Types of others that a journal has, or that ours contain.
_OTHERS = {'sensor_msgs/CompressedImage': 'std_msgs/Header header\nstring format\nuint8[] data\n',
           'std_msgs/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
           'builtin_interfaces/Time': 'int32 sec\nuint32 nanosec\n'}


def entry_definition(type_name: str) -> tuple[str, str]:
    """Return the definition of one of our types with those that it needs, and its RIHS01 hash.

    Args:
        type_name: such as 'proemlc_ros/msg/LabelAnnotation'.

    Returns:
        As the library rosbags gives them; the hash is empty where it is not installed.

    Raises:
        BagError: our message definitions are missing: a broken installation.
    """
    name = type_name.replace('/msg/', '/')
    parts = [_text(name)]
    seen = {name}
    _add_needed(parts[0], parts, seen)
    return '\n'.join([parts[0].rstrip('\n'), *(part.rstrip('\n') for part in parts[1:]), '']), (
        _hash_of(type_name))


def is_version_of(definition: str, type_hash: str, type_name: str) -> bool:
    """Tell whether a definition is one of ours, of this version or another.

    Versions differ in fields and constants that later ones have at the end.

    Args:
        definition: text of a type with those that it needs.
        type_hash: RIHS01 hash of the type; empty where not known.
        type_name: such as 'proemlc_ros/msg/LabelAnnotation'.
    """
    if type_hash and not _HASH.fullmatch(type_hash):
        return False
    try:
        current, current_hash = entry_definition(type_name)
    except (BagError, OSError):
        return bool(definition)  # A broken installation does not damage a journal.
    if definition == current or type_hash and type_hash == current_hash:
        return definition == current and (
            not type_hash or not current_hash or type_hash == current_hash)
    ours, theirs = _parts(current), _parts(definition)
    return bool(theirs) and (set(theirs) <= set(ours) or len(theirs) > len(ours)) and all(
        lines[:len(ours[name])] == ours[name][:len(lines)] and bool(lines)
        for name, lines in theirs.items() if name in ours)


def _parts(definition: str) -> dict[tuple[str, bool], list[str]]:
    """Return the constants and the fields of each type in a definition."""
    parts: dict[tuple[str, bool], list[str]] = {}
    for block in definition.split(f'{_SEPARATOR}\nMSG: '):
        name, lines = ('', block.splitlines()) if not parts else (
            block.partition('\n')[0], block.splitlines()[1:])
        for line in lines:
            parts.setdefault((name, '=' in line), []).append(line)
    return parts


def _add_needed(text: str, parts: list[str], seen: set[str]) -> None:
    for line in text.splitlines():
        name = line.split()[0].partition('[')[0]
        if '/' in name and name not in seen:
            seen.add(name)
            needed = _text(name)
            parts.append(f'{_SEPARATOR}\nMSG: {name}\n{needed}')
            _add_needed(needed, parts, seen)


def _text(name: str) -> str:
    """Return constants, then fields, without comments and defaults."""
    if name in _OTHERS:
        return _OTHERS[name]
    text = (message_folder() / f'{name.partition("/")[2]}.msg').read_text(encoding='utf-8')
    constants, fields = [], []
    for line in text.splitlines():
        words = line.partition('#')[0].split()
        if not words:
            continue
        kind = words[0] if '/' in words[0] or words[0][0].islower() else f'{_PACKAGE}/{words[0]}'
        if '=' in ''.join(words[1:]):
            constants.append(f'{kind} {"".join(words[1:])}')
        else:
            fields.append(f'{kind} {words[1]}')
    return '\n'.join([*constants, *fields, ''])


def _hash_of(type_name: str) -> str:
    package, _, name = type_name.split('/')
    for folder in message_folders(package):
        try:
            content = json.loads((folder / f'{name}.json').read_text(encoding='utf-8'))
            return str(next(entry['hash_string'] for entry in content['type_hashes']
                            if entry['type_name'] == type_name))
        except (OSError, ValueError, LookupError, StopIteration):
            continue
    return ''


def message_folder() -> Path:
    """Return the folder of our .msg files: that of a checkout, or the installed one.

    Raises:
        BagError: there is none.
    """
    for folder in message_folders():
        if (folder / 'LabelAnnotation.msg').is_file():
            return folder
    raise BagError(f'the message definitions of {_PACKAGE} are not installed; install it again')


def message_folders(package: str = _PACKAGE) -> Iterator[Path]:
    """Yield where the messages of a package may be, the checkout first."""
    if package == _PACKAGE:
        yield Path(__file__).resolve().parents[2] / 'msg'
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    for prefix in [*filter(None, prefixes), sys.prefix]:
        yield Path(prefix) / 'share' / package / 'msg'
    # Where pip installs into a folder that is not the interpreter's own.
    yield Path(__file__).resolve().parents[5] / 'share' / package / 'msg'
