# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files: the few protobuf messages that a network of convolutions needs.

Field numbers are those of onnx.proto3 (IR version 7). The package `onnx` would do the same; it is
no runtime dependency, since a robot has neither a rosdep key nor another use for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 7
OPSET = 11
FLOAT, INT, STRING, INTS = 1, 2, 3, 7  # AttributeProto.AttributeType
FLOAT_TENSOR = 1  # TensorProto.DataType
VARINT, LENGTH_DELIMITED, FIXED32 = 0, 2, 5

AttributeValue = int | float | str | Sequence[int]


class OnnxGraph:
    """A network under construction: nodes in the order of their calls, and their weights."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._weights: list[bytes] = []

    def weight(self, name: str, values: NDArray[np.float32]) -> str:
        """Add a constant; return its name."""
        array = np.asarray(values, '<f4')
        dims = b''.join(integer(1, side) for side in array.shape)
        self._weights.append(
            dims + integer(2, FLOAT_TENSOR) + text(8, name) + field(9, array.tobytes()))
        return name

    def node(self, operator: str, inputs: Iterable[str], output: str,
             **attributes: AttributeValue) -> str:
        """Add an operation; return the name of its output."""
        self._nodes.append(
            b''.join(text(1, name) for name in inputs) + text(2, output) + text(3, output)
            + text(4, operator)
            + b''.join(field(5, attribute(*pair)) for pair in attributes.items()))
        return output

    def model(self, name: str, image: tuple[str, Sequence[int | str]],
              output: tuple[str, Sequence[int | str]], notes: Mapping[str, str]) -> bytes:
        """Return the file: `image` and `output` are name and shape; notes go into it as text."""
        graph = (
            b''.join(field(1, node) for node in self._nodes) + text(2, name)
            + b''.join(field(5, weight) for weight in self._weights)
            + field(11, value_info(*image)) + field(12, value_info(*output)))
        return (
            integer(1, IR_VERSION) + text(2, 'proemlc_ros') + field(7, graph)
            + field(8, text(1, '') + integer(2, OPSET))
            + b''.join(field(14, text(1, key) + text(2, note)) for key, note in notes.items()))


def attribute(name: str, value: AttributeValue) -> bytes:
    """Return an AttributeProto."""
    if isinstance(value, str):
        return text(1, name) + text(4, value) + integer(20, STRING)
    if isinstance(value, int):
        return text(1, name) + integer(3, value) + integer(20, INT)
    if isinstance(value, float):
        return (text(1, name) + varint(2 << 3 | FIXED32) + struct.pack('<f', value)
                + integer(20, FLOAT))
    return text(1, name) + b''.join(integer(8, part) for part in value) + integer(20, INTS)


def value_info(name: str, shape: Sequence[int | str]) -> bytes:
    """Return a ValueInfoProto of a float tensor; a text in the shape is a free dimension."""
    dims = b''.join(
        field(1, text(2, side) if isinstance(side, str) else integer(1, side)) for side in shape)
    return text(1, name) + field(2, field(1, integer(1, FLOAT_TENSOR) + field(2, dims)))


def varint(value: int) -> bytes:
    """Return a non-negative integer in protobuf's variable length.

    >>> varint(300).hex()
    'ac02'
    """
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def field(number: int, content: bytes) -> bytes:
    """Return a field of bytes, or of a message."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(content)) + content


def text(number: int, value: str) -> bytes:
    """Return a field of text."""
    return field(number, value.encode())


def integer(number: int, value: int) -> bytes:
    """Return a field of a non-negative integer."""
    return varint(number << 3 | VARINT) + varint(value)
