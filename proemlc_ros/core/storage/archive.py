# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The archive of a model file: a zip of stored parts, sealed by a checksum of all its bytes.

Nothing is parsed before the checksum fits, and nothing is ever unpacked: parts cannot be larger
than the file that holds them.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from proemlc_ros.errors import CorruptModelError, ForeignModelError, ModelFileError

FORMAT = 'proemlc-model'
_SEAL = re.compile(rb'sha256=([0-9a-f]{64})')
_SEAL_LENGTH = len('sha256=') + 64
# The longest list of parts of the zip archive; ours have some 20 parts of 60 bytes.
_MAX_DIRECTORY = 1 << 16
_END = struct.Struct('<4s4H2LH')
_ZIP64_LOCATOR_LENGTH = 20


def write_archive(write: Callable[[zipfile.ZipFile], None]) -> bytes:
    """Return the bytes of an archive.

    Args:
        write: writes the parts.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_STORED) as archive:
        archive.comment = b' ' * _SEAL_LENGTH
        write(archive)
    # In place: to copy a large model would hold the interpreter for many milliseconds.
    with buffer.getbuffer() as content:
        content[-_SEAL_LENGTH:] = b'sha256=' + hashlib.sha256(
            content[:-_SEAL_LENGTH]).hexdigest().encode()
    return buffer.getvalue()


@contextmanager
def open_archive(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open an archive whose checksum fits; errors of its parsers become ours.

    Raises:
        ModelFileError: or one of its kinds, when it is anything but a whole, unaltered archive.
    """
    _check_seal(data)
    _check_directory(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_members(archive.infolist(), len(data))
            yield archive
    except ModelFileError:
        raise
    except Exception as error:
        # The parsers of zip, JSON and .npy raise errors of many kinds; whatever it is, the file
        # is at fault.
        raise CorruptModelError(
            f'the model file is damaged: {str(error)[:200] or type(error).__name__}') from error


def _check_seal(data: bytes) -> None:
    ours = f'"format": "{FORMAT}"'.encode() in data[:256]
    seal = _SEAL.fullmatch(data[-_SEAL_LENGTH:])
    if not data.startswith(b'PK') or seal is None and not ours:
        raise ForeignModelError('this is not a model file of proemlc_ros; '
                                'give a file that ProEMLC.save() has written')
    digest = hashlib.sha256(memoryview(data)[:-_SEAL_LENGTH]).hexdigest().encode()
    if seal is None or seal[1] != digest:
        raise CorruptModelError('the model file is cut or altered (its checksum does not fit); '
                                'use another copy of it')


def _check_directory(data: bytes) -> None:
    """Check the size of the list of parts, before zipfile makes an object of each.

    Raises:
        CorruptModelError: it is longer than any model has it.
    """
    end = data[-_END.size - _SEAL_LENGTH:-_SEAL_LENGTH]
    magic, _, _, _, _, length, _, comment = (
        _END.unpack(end) if len(end) == _END.size else (b'',) + (0,) * 7)
    locator = data[-_END.size - _SEAL_LENGTH - _ZIP64_LOCATOR_LENGTH:][:4]
    # Only files of 2 GiB and more, which a caller must allow, have a second list of parts.
    if (magic != b'PK\x05\x06' or comment != _SEAL_LENGTH or length > _MAX_DIRECTORY
            or locator == b'PK\x06\x07' and len(data) <= zipfile.ZIP64_LIMIT):
        raise CorruptModelError('the model file is damaged: its list of parts does not end with '
                                f'the checksum, or is longer than {_MAX_DIRECTORY} bytes')


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Check that the parts are stored as they are, one behind the other, in a file of a size.

    Parts that lie over one another can add up to any number of bytes.
    """
    if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1
           or member.file_size != member.compress_size for member in members):
        raise CorruptModelError('the model file has compressed parts, which ours never have')
    if sum(member.file_size for member in members) > size:
        raise CorruptModelError('the parts of the model file are larger than the file itself')
    if len({member.filename for member in members}) != len(members):
        raise CorruptModelError('the model file has two parts of one name')
