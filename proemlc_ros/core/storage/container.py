# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model file: a .npz of plain arrays and a JSON header, sealed by a checksum.

The zip archive holds header.json and one .npy per array, uncompressed, and ends with a comment:
the SHA-256 of every byte before it. So no byte can change, appear or vanish unnoticed, and nothing
is parsed before the checksum fits; nothing is ever unpickled or unpacked.
"""

from __future__ import annotations

import json
import math
import os
import stat
import zipfile
from typing import Any

import numpy as np

from proemlc_ros.core.storage.archive import FORMAT, open_archive, write_archive
from proemlc_ros.errors import (
    CorruptModelError,
    ForeignModelError,
    ModelTooLargeError,
    NewerModelError,
)

# Version 2 keeps samples to decide by, where version 1 kept the sums of a threshold.
VERSION = 2
# A model of 10,000 neurons takes 0.4 GB.
MAX_BYTES = 2 << 30
_DTYPES = {'<f8', '<f4', '<i8', '<i4', '<u4', '<u2', '|i1'}
_HEADER = 'header.json'
# Names of labels and annotations of the first samples: 100,000 names of 600 bytes.
MAX_HEADER_BYTES = 64 << 20
# An empty list takes 2 bytes of text and 64 of memory.
MAX_HEADER_PARTS = 1 << 20
# Bytes of an array that are copied at a time: other threads, which predict, come in between.
_PART = 1 << 19

Arrays = dict[str, np.ndarray[Any, Any]]


def pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes of a model file; header must be plain JSON values."""
    text = json.dumps({'format': FORMAT, 'version': VERSION, **header}, allow_nan=False)

    def write(archive: zipfile.ZipFile) -> None:
        archive.writestr(zipfile.ZipInfo(_HEADER), text.encode())
        for name, array in arrays.items():
            write_array(archive, name, array)

    return write_archive(write)


def write_array(archive: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any]) -> None:
    """Add an array to the archive of a model file."""
    # A fixed date, so that equal models make equal files.
    with archive.open(zipfile.ZipInfo(f'{name}.npy'), 'w', force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(
            member, np.lib.format.header_data_from_array_1_0(array))
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        flat = array.reshape(-1, order='F' if fortran else 'C').view(np.uint8)
        for start in range(0, len(flat), _PART):
            member.write(flat[start:start + _PART].data)


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a model file.

    Raises:
        ModelFileError: or one of its kinds, when it is anything but a whole, unaltered model file.
    """
    with open_archive(data) as archive:
        header = _read_header(archive.read(_HEADER))
        _check_header(header)
        return header, {
            member.filename.removesuffix('.npy'): read_array(archive, member)
            for member in archive.infolist() if member.filename != _HEADER}


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


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """Return an array of an archive; unlike NumPy's own, never allocates beyond its bytes."""
    with archive.open(member) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise CorruptModelError('the model file has an array of an unknown kind')
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        count = math.prod(shape)
        if (dtype.str not in _DTYPES
                or count * dtype.itemsize != member.file_size - stream.tell()):
            raise CorruptModelError(f'the model file has an array of {dtype} with shape {shape}')
        values = np.empty(count, dtype=dtype)
        flat, start = values.view(np.uint8), 0
        while part := stream.read(_PART):
            flat[start:start + len(part)] = np.frombuffer(part, np.uint8)
            start += len(part)
    return values.reshape(shape, order='F' if fortran else 'C')
