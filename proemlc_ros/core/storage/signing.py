# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Signatures of model files: HMAC-SHA-256 with a key that the robots of a fleet share.

The signature is one more array of the file, so that it travels with it and versions that know no
signatures ignore it. It covers the name and the bytes of every other part.

It shows that someone with the key made the file as it is. It does not show who of them, nor that
it is the newest: an old signed file stays valid. Without `required`, whoever alters a file can
take the signature out as well.
"""

from __future__ import annotations

import hmac
import os
import struct
import zipfile
from enum import Enum

import numpy as np

from proemlc_ros.core.storage.archive import open_archive, write_archive
from proemlc_ros.core.storage.container import read_array, read_file, write_array
from proemlc_ros.errors import ModelTooLargeError, ParameterError, SignatureError

_NAME = 'signature'
_PART = f'{_NAME}.npy'
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
    with open_archive(data) as archive:
        signature = np.frombuffer(_mac(archive, key), '<u4')

        def write(signed: zipfile.ZipFile) -> None:
            for member in archive.infolist():
                if member.filename != _PART:
                    with signed.open(zipfile.ZipInfo(member.filename), 'w',
                                     force_zip64=True) as part:
                        part.write(archive.read(member))
            write_array(signed, _NAME, signature)

        return write_archive(write)


def signature_of(data: bytes, key: bytes | None = None) -> Signature:
    """Return the state of the signature of a model file.

    Raises:
        ModelFileError: it is not a model file.
    """
    with open_archive(data) as archive:
        if _PART not in archive.namelist():
            return Signature.MISSING
        if key is None:
            return Signature.UNKNOWN
        stored = read_array(archive, archive.getinfo(_PART)).tobytes()
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
        if name != _PART:
            for content in (name.encode(), archive.read(name)):
                digest.update(_LENGTH.pack(len(content)))
                digest.update(content)
    return digest.digest()
