# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What an ONNX file says of itself, read without running it: inputs, outputs, other files.

Field numbers are those of onnx.proto3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from proemlc_ros.errors import BackboneError

# Element types of TensorProto that an image can come in.
ELEMENT_TYPES = {1: np.float32, 2: np.uint8, 10: np.float16, 11: np.float64}
# Graphs inside the attributes of nodes (loops, conditions); real networks nest once or twice.
MOST_NESTED = 8
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EXTERNAL = 1  # TensorProto.DataLocation


class TensorInfo(NamedTuple):
    """An input or output: name, number of its element type, shape; None: a free dimension."""

    name: str
    element: int
    shape: tuple[int | None, ...]


class OnnxSummary(NamedTuple):
    """Inputs (without weights) and outputs of a network, in the order of the file."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


def read_summary(content: bytes) -> OnnxSummary:
    """Return what a file says of its inputs and outputs.

    Raises:
        BackboneError: truncated or damaged, no ONNX at all, or it wants other files read.

    """
    try:
        return _summary(memoryview(content))
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise BackboneError(f'not an ONNX file, or a truncated one: {error}') from error


def _summary(content: memoryview) -> OnnxSummary:
    graphs = []
    for number, value in _fields(content):
        if number == 7:
            graphs.append(_message(value))
        elif number == 25:  # a function of the model's own
            for node in _messages(_message(value), 7):
                _check_node(node, 0)
    if len(graphs) != 1:
        raise ValueError('no graph in it')
    weights = _check_graph(graphs[0], 0)
    inputs = [_tensor_info(entry) for entry in _messages(graphs[0], 11)]
    outputs = [_tensor_info(entry) for entry in _messages(graphs[0], 12)]
    # Older files list the weights among the inputs, too.
    return OnnxSummary(
        tuple(info for info in inputs if info.name not in weights), tuple(outputs))


def _check_graph(graph: memoryview, depth: int) -> set[str]:
    """Refuse tensors in other files; return the names of the weights."""
    if depth > MOST_NESTED:
        raise ValueError('graphs nested too deeply')
    weights = set()
    for number, value in _fields(graph):
        if number == 1:
            _check_node(_message(value), depth)
        elif number == 5:
            weights.add(_check_tensor(_message(value)))
        elif number == 15:
            _check_sparse(_message(value))
    return weights


def _check_node(node: memoryview, depth: int) -> None:
    for attribute in _messages(node, 5):
        for number, value in _fields(attribute):
            if number in (5, 10):
                _check_tensor(_message(value))
            elif number in (6, 11):
                _check_graph(_message(value), depth + 1)
            elif number in (22, 23):
                _check_sparse(_message(value))


def _check_sparse(tensor: memoryview) -> None:
    for number, value in _fields(tensor):
        if number in (1, 2):
            _check_tensor(_message(value))


def _check_tensor(tensor: memoryview) -> str:
    name = ''
    for number, value in _fields(tensor):
        if number == 8:
            name = bytes(_message(value)).decode()
        elif number == 13 or (number == 14 and value == _EXTERNAL):
            raise BackboneError(
                'it wants its weights read from other files; save the network as one file')
    return name


def _tensor_info(entry: memoryview) -> TensorInfo:
    name, element, shape = '', 0, []
    for number, value in _fields(entry):
        if number == 1:
            name = bytes(_message(value)).decode()
    for kind in _messages(entry, 2):
        for tensor in _messages(kind, 1):
            element = next((value for number, value in _fields(tensor)
                            if number == 1 and isinstance(value, int)), 0)
            shape = [_side(side) for dims in _messages(tensor, 2) for side in _messages(dims, 1)]
    return TensorInfo(name, element, tuple(shape))


def _side(dimension: memoryview) -> int | None:
    stated = [value for number, value in _fields(dimension)
              if number == 1 and isinstance(value, int)]
    return stated[0] if stated and 0 < stated[0] < 1 << 31 else None


def _messages(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, value in _fields(message):
        if number == wanted:
            yield _message(value)


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError('a number in place of a message')
    return value


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of each field; a value is an integer, or the bytes of the field."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f'a field of unknown kind {kind}')
        if length > len(message) - place:
            raise ValueError('a field reaches beyond the end')
        yield key >> 3, message[place:place + length]
        place += length


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError('a number too long')
