# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model file: a .npz of plain arrays and a JSON header, sealed by a checksum, maybe signed.

The zip archive holds header.json and one .npy per array, uncompressed, and ends with a comment:
the SHA-256 of every byte before it. So no byte can change, appear or vanish unnoticed. Nothing is
parsed before the checksum fits, and nothing is ever unpickled or unpacked: parts cannot be larger
than the file that holds them.

A signature is HMAC-SHA-256 with a key that the robots of a fleet share. It is one more array of
the file, so that it travels with it and versions that know no signatures ignore it. It covers the
name and the bytes of every other part. It shows that someone with the key made the file as it is.
It does not show who of them, nor that it is the newest: an old signed file stays valid. Without
`required`, whoever alters a file can take the signature out as well.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import math
import os
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import numpy as np

from proemlc_ros.errors import (
    CorruptModelError,
    ForeignModelError,
    ModelFileError,
    ModelTooLargeError,
    NewerModelError,
    ParameterError,
    SignatureError,
)

_FORMAT = 'proemlc-model'
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
def _open_archive(data: bytes) -> Iterator[zipfile.ZipFile]:
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
    ours = f'"format": "{_FORMAT}"'.encode() in data[:256]
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


# Version 2 keeps samples to decide by, where version 1 kept the sums of a threshold.
_VERSION = 2
# A model of 10,000 neurons takes 0.4 GB.
MAX_BYTES = 2 << 30
_DTYPES = {'<f8', '<f4', '<i8', '<i4', '<u4', '<u2', '|i1'}
_HEADER = 'header.json'
# Names of labels and annotations of the first samples: 100,000 names of 600 bytes.
_MAX_HEADER_BYTES = 64 << 20
# An empty list takes 2 bytes of text and 64 of memory.
_MAX_HEADER_PARTS = 1 << 20
# Bytes of an array that are copied at a time: other threads, which predict, come in between.
_PART = 1 << 19

Arrays = dict[str, np.ndarray[Any, Any]]


def pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes of a model file; header must be plain JSON values."""
    text = json.dumps({'format': _FORMAT, 'version': _VERSION, **header}, allow_nan=False)

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
    with _open_archive(data) as archive:
        header = _read_header(archive.read(_HEADER))
        _check_header(header)
        return header, {
            member.filename.removesuffix('.npy'): _read_array(archive, member)
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
    if len(text) > _MAX_HEADER_BYTES:
        raise ModelTooLargeError(f'the header of the model file has {len(text)} bytes, more than '
                                 f'the limit of {_MAX_HEADER_BYTES}')
    parts = text.count(b'[') + text.count(b'{')
    if parts > _MAX_HEADER_PARTS:
        raise ModelTooLargeError(f'the header of the model file has {parts} lists and objects, '
                                 f'more than the limit of {_MAX_HEADER_PARTS}')
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
    if not isinstance(header, dict) or header.get('format') != _FORMAT:
        raise ForeignModelError('this is not a model file of proemlc_ros; '
                                'give a file that ProEMLC.save() has written')
    version = header.get('version')
    if not isinstance(version, int) or version < 1:
        raise CorruptModelError(f'the model file has the format version {version!r}')
    if version > _VERSION:
        raise NewerModelError(f'the model file has format version {version}, but this proemlc_ros '
                              f'reads up to {_VERSION}; upgrade the package')


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
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


_SIGNATURE = 'signature'
_SIGNATURE_PART = f'{_SIGNATURE}.npy'
# What is signed: the same key may serve for other things as well.
_PURPOSE = b'proemlc-model signature 1'
_LENGTH = struct.Struct('<Q')
_SHORTEST_KEY, _LONGEST_KEY = 32, 4096


class Signature(Enum):
    """State of the signature of a model file."""

    MISSING = 'not signed'
    UNKNOWN = 'signed; give the key to check it'
    VALID = 'signed with this key'
    WRONG = 'signed, but not with this key, or altered since'


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Return the key of a file: its content without white space at the ends.

    Raises:
        ParameterError: it cannot be read, or is too short to be a key.
    """
    make = "make one with 'openssl rand -hex 32'"
    try:
        key = read_file(path, _LONGEST_KEY).strip()
    except ModelTooLargeError:
        raise ParameterError(f'{os.fspath(path)} has more than {_LONGEST_KEY} bytes, so it is '
                             f'not a key file; {make}') from None
    except OSError as error:
        raise ParameterError(f'the key file {os.fspath(path)} cannot be read: '
                             f'{error.strerror}; {make}') from error
    if len(key) < _SHORTEST_KEY:
        raise ParameterError(f'the key in {os.fspath(path)} has {len(key)} characters, at least '
                             f'{_SHORTEST_KEY} are needed; {make}')
    return key


def sign(data: bytes, key: bytes) -> bytes:
    """Return the bytes of a model file with a signature in place of any that it had.

    Raises:
        ModelFileError: it is not a model file.
    """
    with _open_archive(data) as archive:
        signature = np.frombuffer(_mac(archive, key), '<u4')

        def write(signed: zipfile.ZipFile) -> None:
            for member in archive.infolist():
                if member.filename != _SIGNATURE_PART:
                    with signed.open(zipfile.ZipInfo(member.filename), 'w',
                                     force_zip64=True) as part:
                        part.write(archive.read(member))
            write_array(signed, _SIGNATURE, signature)

        return write_archive(write)


def signature_of(data: bytes, key: bytes | None = None) -> Signature:
    """Return the state of the signature of a model file.

    Raises:
        ModelFileError: it is not a model file.
    """
    with _open_archive(data) as archive:
        if _SIGNATURE_PART not in archive.namelist():
            return Signature.MISSING
        if key is None:
            return Signature.UNKNOWN
        stored = _read_array(archive, archive.getinfo(_SIGNATURE_PART)).tobytes()
        fits = hmac.compare_digest(stored, _mac(archive, key))
        return Signature.VALID if fits else Signature.WRONG


def check_signature(data: bytes, key: bytes | None, required: bool = False) -> None:
    """Check the signature of a model file.

    Args:
        data: of the file.
        key: of the fleet; None: a signature is not looked at.
        required: whether a file without a signature is rejected.

    Raises:
        SignatureError: it does not fit the key, or is required and missing.
        ModelFileError: it is not a model file.
    """
    if key is None and not required:
        return
    state = signature_of(data, key)
    if state is Signature.WRONG:
        raise SignatureError('the signature of the model file does not fit the key: it was '
                             'altered, or signed by someone else; get the file again, or sign it '
                             "with 'proemlc sign' if you trust it")
    if required and state is not Signature.VALID:
        raise SignatureError('the model file is not signed, but a signature is required; sign it '
                             "with 'proemlc sign' if you trust it")


def _mac(archive: zipfile.ZipFile, key: bytes) -> bytes:
    digest = hmac.new(key, _PURPOSE, 'sha256')
    for name in sorted(archive.namelist()):
        if name != _SIGNATURE_PART:
            for content in (name.encode(), archive.read(name)):
                digest.update(_LENGTH.pack(len(content)))
                digest.update(content)
    return digest.digest()
