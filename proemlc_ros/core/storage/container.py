# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model file: a .npz of plain arrays and a JSON header, sealed by a checksum.

The zip archive holds header.json and one .npy per array, uncompressed, and ends with a comment:
the SHA-256 of every byte before it. So no byte can change, appear or vanish unnoticed, and nothing
is parsed before the checksum fits; nothing is ever unpickled or unpacked.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
import struct
import tempfile
import zipfile
from typing import Any

import numpy as np

from proemlc_ros.errors import (
    CorruptModelError,
    ForeignModelError,
    ModelFileError,
    ModelTooLargeError,
    NewerModelError,
)

FORMAT = 'proemlc-model'
VERSION = 1
# A model of 10,000 neurons takes 0.4 GB.
MAX_BYTES = 2 << 30
_SEAL = re.compile(rb'sha256=([0-9a-f]{64})')
_SEAL_LENGTH = len('sha256=') + 64
_DTYPES = {'<f8', '<f4', '<i8', '<i4', '<u4', '<u2'}
_HEADER = 'header.json'
# The longest list of parts of the zip archive; ours have some 20 parts of 60 bytes.
_MAX_DIRECTORY = 1 << 16
_END = struct.Struct('<4s4H2LH')
_ZIP64_LOCATOR_LENGTH = 20
# Names of labels and annotations of the first samples: 100,000 names of 600 bytes.
MAX_HEADER_BYTES = 64 << 20
# An empty list takes 2 bytes of text and 64 of memory.
MAX_HEADER_PARTS = 1 << 20

Arrays = dict[str, np.ndarray[Any, Any]]


def pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes of a model file; header must be plain JSON values."""
    text = json.dumps({'format': FORMAT, 'version': VERSION, **header}, allow_nan=False)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_STORED) as archive:
        archive.comment = b' ' * _SEAL_LENGTH
        archive.writestr(zipfile.ZipInfo(_HEADER), text.encode())
        for name, array in arrays.items():
            # A fixed date, so that equal models make equal files.
            with archive.open(zipfile.ZipInfo(f'{name}.npy'), 'w', force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    content = buffer.getvalue()[:-_SEAL_LENGTH]
    return content + b'sha256=' + hashlib.sha256(content).hexdigest().encode()


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a model file.

    Raises:
        ModelFileError: or one of its kinds, when it is anything but a whole, unaltered model file.
    """
    _check_seal(data)
    _check_directory(data)
    try:
        return _read_archive(data)
    except ModelFileError:
        raise
    except Exception as error:
        # The parsers of zip, JSON and .npy raise errors of many kinds; whatever it is, the file
        # is at fault.
        raise CorruptModelError(
            f'the model file is damaged: {str(error)[:200] or type(error).__name__}') from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def read_file(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file, unless it is too large.

    Raises:
        ModelTooLargeError: when it is.
        OSError: when it cannot be read.
    """
    # A pipe would make the reader wait for its writer.
    with open(path, 'rb', opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ForeignModelError(f'{os.fspath(path)} is not a file; give a model file')
        # A file that grows meanwhile is read as far as it was; its checksum then does not fit.
        data = b'' if status.st_size > max_bytes else file.read(status.st_size)
    if status.st_size > max_bytes:
        raise ModelTooLargeError(f'{os.fspath(path)} is larger than {max_bytes} bytes; '
                                 'raise max_bytes if you trust it')
    return data


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that a crash at any time leaves the old or the new one, whole.

    Raises:
        OSError: when it cannot be written; the old file is untouched.
    """
    path = os.path.abspath(path)
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(prefix=f'.{name}.', suffix='.tmp', dir=folder)
    try:
        with open(handle, 'wb') as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), _mode_of(path))
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _mode_of(path: str) -> int:
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        return 0o644


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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


def _read_archive(data: bytes) -> tuple[dict[str, Any], Arrays]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        _check_members(members, len(data))
        header = _read_header(archive.read(_HEADER))
        _check_header(header)
        arrays = {member.filename.removesuffix('.npy'): _read_array(archive.read(member))
                  for member in members if member.filename != _HEADER}
    return header, arrays


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


def _read_header(text: bytes) -> Any:
    """Return the values of JSON text; never more than about ten times its size."""
    if len(text) > MAX_HEADER_BYTES:
        raise ModelTooLargeError(f'the header of the model file has {len(text)} bytes, more than '
                                 f'the limit of {MAX_HEADER_BYTES}')
    parts = text.count(b'[') + text.count(b'{')
    if parts > MAX_HEADER_PARTS:
        raise ModelTooLargeError(f'the header of the model file has {parts} lists and objects, '
                                 f'more than the limit of {MAX_HEADER_PARTS}')
    header = json.loads(text, parse_float=_finite, parse_constant=_finite)
    if b'\\ud' in text.lower():
        # Half of a surrogate pair is no text; it would fail later, when it is written.
        json.dumps(header, ensure_ascii=False).encode()
    return header


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f'{text[:40]} in the header is not a finite number')
    return number


def _check_header(header: Any) -> None:
    if not isinstance(header, dict) or header.get('format') != FORMAT:
        raise ForeignModelError('this is not a model file of proemlc_ros; '
                                'give a file that ProEMLC.save() has written')
    version = header.get('version')
    if not isinstance(version, int) or version < 1:
        raise CorruptModelError(f'the model file has the format version {version!r}')
    if version > VERSION:
        raise NewerModelError(f'the model file has format version {version}, but this proemlc_ros '
                              f'reads up to {VERSION}; upgrade the package')


def _read_array(data: bytes) -> np.ndarray[Any, Any]:
    """Return an array from .npy bytes; unlike NumPy's own, never allocates beyond them."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise CorruptModelError('the model file has an array of an unknown kind')
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.str not in _DTYPES or math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise CorruptModelError(f'the model file has an array of {dtype} with shape {shape}')
    values = np.frombuffer(data, dtype=dtype, offset=stream.tell())
    return values.reshape(shape, order='F' if fortran else 'C').copy(order='K')
