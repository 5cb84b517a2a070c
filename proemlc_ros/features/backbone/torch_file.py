# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Weights of a network from a `.pth` file of torch's old format, read without torch.

Nothing that such a file names is imported or called, except
the three things that a dictionary of tensors consists of.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BackboneError

_MAGIC = 0x1950A86A20F9469CFC6C
_FORMAT_VERSION = 1001
_MOST_AXES = 8
_TYPES = {
    'torch.FloatStorage': '<f4', 'torch.DoubleStorage': '<f8', 'torch.HalfStorage': '<f2',
    'torch.LongStorage': '<i8', 'torch.IntStorage': '<i4',
}


class _Storage(NamedTuple):
    """A run of numbers that follows the pickles."""

    key: str
    type: np.dtype[Any]
    length: int


class _TensorView(NamedTuple):
    """A part of a storage, as the file states it."""

    storage: _Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


class _Tensors(dict[str, Any]):
    """What stands for an OrderedDict, whose attributes are not wanted."""

    def __setstate__(self, state: object) -> None:
        """Drop the attributes."""


class _TensorUnpickler(pickle.Unpickler):  # noqa: S301
    """Gives numbers, text, lists, dictionaries and views of storages, and imports nothing."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name of the file.

        Raises:
            BackboneError: dictionaries of tensors do not need it.
        """
        wanted = f'{module}.{name}'
        if wanted in _TYPES:
            return np.dtype(_TYPES[wanted])
        if wanted == 'torch._utils._rebuild_tensor_v2':
            return lambda *parts: _TensorView(*parts[:4])
        if wanted == 'collections.OrderedDict':
            return _Tensors
        raise BackboneError(f'the file wants {wanted[:100]!r} called, which tensors do not need')

    def persistent_load(self, identity: Any) -> _Storage:
        """Return a storage."""
        kind, type_, key, _, length, view = identity
        if kind != 'storage' or view is not None or not isinstance(type_, np.dtype):
            raise BackboneError('the file refers to something other than stored numbers')
        return _Storage(str(key), type_, int(length))


def read_tensors(content: bytes, name: str) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file by name, as arrays of their own.

    The file is a row of pickles (magic number, version, machine, tensors, keys of the storages)
    and then the storages in the order of the keys: number of values, values.

    Args:
        content: of a file with a published hash; see installing.py.
        name: of the file, for errors.

    Raises:
        BackboneError: it holds something other than tensors.
    """
    try:
        return _read(io.BytesIO(content), len(content))
    except Exception as error:  # whatever a damaged pickle leads to
        raise BackboneError(f'{name} is not usable as weights: {error}') from error


def _read(file: io.BytesIO, length: int) -> dict[str, NDArray[Any]]:
    magic, version, machine, views, keys = (_TensorUnpickler(file).load() for _ in range(5))
    if (magic, version) != (_MAGIC, _FORMAT_VERSION) or machine.get('little_endian') is not True:
        raise BackboneError("not of torch's old format on a machine of this byte order")
    if not isinstance(views, _Tensors) or not views or not all(
            isinstance(name, str) and isinstance(view, _TensorView)
            for name, view in views.items()):
        raise BackboneError('it does not hold tensors by name')
    known = {view.storage.key: view.storage for view in views.values()}
    if sorted(keys) != sorted(known) or any(
            known[view.storage.key] != view.storage for view in views.values()):
        raise BackboneError('the numbers in the file are not those of its tensors')
    storages = {}
    for storage in (known[key] for key in keys):
        count, = struct.unpack('<q', file.read(8))
        if count != storage.length or not (
                0 <= count * storage.type.itemsize <= length - file.tell()):
            raise BackboneError('truncated: numbers are missing at its end')
        storages[storage.key] = np.frombuffer(
            file.read(count * storage.type.itemsize), storage.type)
    if file.read(1):
        raise BackboneError('there is something behind its end')
    return {name: _tensor(name, view, storages[view.storage.key]) for name, view in views.items()}


def _tensor(name: str, view: _TensorView, numbers: NDArray[Any]) -> NDArray[Any]:
    _, offset, size, stride = view
    if not (type(size) is tuple and type(stride) is tuple and len(size) == len(stride)
            and len(size) <= _MOST_AXES
            and all(type(value) is int and value >= 0 for value in (offset, *size, *stride))):
        raise BackboneError(f'the shape of {name} makes no sense')
    last = offset + sum((side - 1) * step for side, step in zip(size, stride, strict=True))
    # More values than are stored would be one number seen many times: a small file, a huge array.
    if math.prod(size) > len(numbers) or last >= len(numbers):
        raise BackboneError(f'{name} reaches beyond its numbers')
    steps = tuple(step * numbers.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, steps).copy()
