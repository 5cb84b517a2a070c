# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX files: what one says of itself, read without running it, and graphs to write new ones.

The package `onnx` writes. Reading needs no package, so that a robot needs none to open a network;
field numbers are those of onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.errors import BackboneError, MissingDependencyError

# Element types of TensorProto that an image can come in.
ELEMENT_TYPES = {1: np.float32, 2: np.uint8, 10: np.float16, 11: np.float64}
# Messages in messages; graphs inside the attributes of nodes nest once or twice in real networks.
_MOST_NESTED = 30
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EXTERNAL = 1  # TensorProto.DataLocation
# Where tensors may be: the kind of message that a field of a message holds.
_PARTS = {
    'model': {7: 'graph', 25: 'function'}, 'function': {7: 'node'}, 'node': {5: 'attribute'},
    'graph': {1: 'node', 5: 'tensor', 15: 'sparse'}, 'sparse': {1: 'tensor', 2: 'tensor'},
    'attribute': {5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph', 22: 'sparse', 23: 'sparse'},
}


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
    model = memoryview(content)
    try:
        _check_tensors('model', model, 0)
        graph, = _messages(model, 7)
        # Older files list the weights among the inputs, too.
        weights = {_text(tensor, 8) for tensor in _messages(graph, 5)}
        inputs, outputs = ([_tensor_info(entry) for entry in _messages(graph, number)]
                           for number in (11, 12))
        return OnnxSummary(
            tuple(info for info in inputs if info.name not in weights), tuple(outputs))
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        reason = 'no graph in it' if 'unpack' in str(error) else error
        raise BackboneError(f'not an ONNX file, or a truncated one: {reason}') from error


def _check_tensors(kind: str, message: memoryview, depth: int) -> None:
    """Refuse tensors that are in other files, wherever they are in a message."""
    if depth > _MOST_NESTED:
        raise ValueError('graphs nested too deeply')
    for number, value in _fields(message):
        if kind == 'tensor' and (number == 13 or (number == 14 and value == _EXTERNAL)):
            raise BackboneError(
                'it wants its weights read from other files; save the network as one file')
        if number in _PARTS.get(kind, ()):
            _check_tensors(_PARTS[kind][number], _message(value), depth + 1)


def _tensor_info(entry: memoryview) -> TensorInfo:
    element, shape = 0, []
    for kind in _messages(entry, 2):
        for tensor in _messages(kind, 1):
            element = _number(tensor) or 0
            shape = [_number(side) for dims in _messages(tensor, 2) for side in _messages(dims, 1)]
    return TensorInfo(_text(entry, 1), element, tuple(shape))


def _number(message: memoryview) -> int | None:
    """Return the first field of a message as a positive number; None: it has none."""
    stated = [value for number, value in _fields(message)
              if number == 1 and isinstance(value, int)]
    return stated[0] if stated and 0 < stated[0] < 1 << 31 else None


def _text(message: memoryview, wanted: int) -> str:
    return ''.join(bytes(part).decode() for part in _messages(message, wanted))


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


def onnx_library() -> Any:
    """Return the package onnx.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            'writing ONNX files needs the package onnx: pip install "proemlc_ros[export]" or pip '
            'install onnx') from error
    return onnx


class GraphWriter:
    """Collects the nodes and constants of an ONNX graph, for the package onnx to write.

    Args:
        prefix: of all names; those of a graph within another must be unlike its own.

    Raises:
        MissingDependencyError: the package onnx is not installed.
    """

    def __init__(self, prefix: str = '') -> None:
        """Start with nothing."""
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix = prefix
        self._onnx = onnx_library()

    def constant(self, values: Any, dtype: Any = np.float64, name: str = '') -> str:
        """Add a constant and return its name."""
        name = name or f'{self._prefix}constant{len(self.constants)}'
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def add(self, operator: str, *inputs: str, name: str = '', **attributes: Any) -> str:
        """Add a node with one output and return the name of that."""
        helper = self._onnx.helper
        output = name or f'{self._prefix}value{len(self.nodes)}'
        node = helper.make_node(operator, inputs, [output], name=output)
        # In this order: the hash of a file names its network.
        node.attribute.extend(helper.make_attribute(*pair) for pair in attributes.items())
        self.nodes.append(node)
        return output

    def sum_of(self, values: str, axis: int, keep: bool) -> str:
        """Add up along an axis."""
        return self.add('ReduceSum', values, self.constant([axis], np.int64), keepdims=int(keep))

    def tensor(self, name: str, shape: Sequence[int | str | None], element: str = 'FLOAT') -> Any:
        """Return the description of an input or output; a text in the shape is free."""
        kind = getattr(self._onnx.TensorProto, element)
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)

    def graph(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """Return the graph, its inputs and outputs described by `tensor`."""
        return self._onnx.helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def model(self, graph: Any, opset: int, ir_version: int, notes: Mapping[str, str]) -> Any:
        """Return a file for a graph; the notes go into it as its metadata."""
        helper = self._onnx.helper
        made = helper.make_model(graph, producer_name='proemlc_ros', ir_version=ir_version,
                                 opset_imports=[helper.make_opsetid('', opset)])
        helper.set_model_props(made, dict(notes))
        return made
