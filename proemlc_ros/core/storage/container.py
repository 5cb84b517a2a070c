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
import tempfile
import zipfile
from typing import Any

import numpy as np

from proemlc_ros.errors import (
    CorruptModelError,
    ForeignModelError,
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
    try:
        return _read_archive(data)
    except (KeyError, TypeError, ValueError, OSError, RecursionError, MemoryError,
            zipfile.BadZipFile, NotImplementedError) as error:
        if isinstance(error, (CorruptModelError, ForeignModelError, NewerModelError)):
            raise
        raise CorruptModelError(f'the model file is damaged: {error}') from error


def read_file(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file, unless it is too large.

    Raises:
        ModelTooLargeError: when it is.
        OSError: when it cannot be read.
    """
    with open(path, 'rb') as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
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


def _read_archive(data: bytes) -> tuple[dict[str, Any], Arrays]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        # Uncompressed members cannot be larger than the file itself.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise CorruptModelError('the model file has compressed parts, which ours never have')
        header = json.loads(archive.read(_HEADER))
        _check_header(header)
        arrays = {member.filename.removesuffix('.npy'): _read_array(archive.read(member))
                  for member in members if member.filename != _HEADER}
    return header, arrays


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
