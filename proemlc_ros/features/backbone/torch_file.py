# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Weights of a network from a `.pth` file of torch's old format, read without torch."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.tensor_pickle import (
    StorageReference,
    TensorRecord,
    read_pickle,
)

MAGIC = 0x1950A86A20F9469CFC6C
FORMAT_VERSION = 1001
MOST_BYTES = 1 << 30
MOST_AXES = 8
TYPES = {
    'torch FloatStorage': '<f4', 'torch DoubleStorage': '<f8', 'torch HalfStorage': '<f2',
    'torch LongStorage': '<i8', 'torch IntStorage': '<i4',
}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file by name, as arrays of their own.

    The file is a row of pickles (magic number, version, machine, tensors, keys of the storages)
    and then the storages in the order of the keys: number of values, values.

    Raises:
        BackboneError: the file cannot be read, is truncated or damaged, or holds something other
            than tensors; nothing of it is ever executed.

    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BackboneError(f'larger than {MOST_BYTES} bytes')
        with path.open('rb') as file:
            return _read(file, path.stat().st_size)
    except OSError as error:
        raise BackboneError(f'cannot read {path}: {error.strerror or error}') from error
    except BackboneError as error:
        raise BackboneError(f'{path} is not usable as weights: {error}') from error


def _read(file: IO[bytes], length: int) -> dict[str, NDArray[Any]]:
    if read_pickle(file) != MAGIC or read_pickle(file) != FORMAT_VERSION:
        raise BackboneError("not of torch's old format")
    machine = read_pickle(file)
    if not isinstance(machine, dict) or machine.get('little_endian') is not True:
        raise BackboneError('written on a machine with another byte order')
    records = read_pickle(file)
    if not isinstance(records, dict) or not records or not all(
            type(name) is str and isinstance(record, TensorRecord)
            for name, record in records.items()):
        raise BackboneError('it does not hold tensors by name')
    storages = _read_storages(file, length, [record.storage for record in records.values()])
    return {name: _tensor(name, record, storages) for name, record in records.items()}


def _read_storages(file: IO[bytes], length: int,
                   references: list[StorageReference]) -> dict[str, NDArray[Any]]:
    known: dict[str, StorageReference] = {}
    for reference in references:
        if not isinstance(reference, StorageReference) or (
                known.setdefault(reference.key, reference) != reference):
            raise BackboneError('two tensors disagree on the numbers that they share')
    keys = read_pickle(file)
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(known):
        raise BackboneError('the numbers in the file are not those of its tensors')
    storages = {key: _read_storage(file, length, known[key]) for key in keys}
    if file.read(1):
        raise BackboneError('there is something behind its end')
    return storages


def _read_storage(file: IO[bytes], length: int, reference: StorageReference) -> NDArray[Any]:
    if reference.type_name not in TYPES:
        raise BackboneError(f'numbers of type {reference.type_name} are not supported')
    kind = np.dtype(TYPES[reference.type_name])
    header = file.read(8)
    # Compared with the rest of the file before any memory is taken.
    if len(header) < 8 or not 0 <= reference.length * kind.itemsize <= length - file.tell():
        raise BackboneError('truncated: numbers are missing at its end')
    if struct.unpack('<q', header)[0] != reference.length:
        raise BackboneError('the lengths in it contradict each other')
    return np.frombuffer(file.read(reference.length * kind.itemsize), kind)


def _tensor(name: str, record: TensorRecord,
            storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    storage = storages[record.storage.key]
    size, stride, offset = record.size, record.stride, record.offset
    if not (type(size) is tuple and type(stride) is tuple and len(size) == len(stride)
            and len(size) <= MOST_AXES
            and all(type(value) is int and value >= 0 for value in (offset, *size, *stride))):
        raise BackboneError(f'the shape of {name} makes no sense')
    values = math.prod(size)
    last = offset + sum((side - 1) * step for side, step in zip(size, stride))
    # More values than are stored would be one number seen many times: a small file, a huge array.
    if values > len(storage) or (values and last >= len(storage)):
        raise BackboneError(f'{name} reaches beyond its numbers')
    if not values:
        return np.zeros(size, storage.dtype)
    strides = tuple(step * storage.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(storage[offset:], size, strides).copy()
