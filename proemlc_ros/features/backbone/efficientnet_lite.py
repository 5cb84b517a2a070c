# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-Lite as an ONNX network that ends in its 1280 features, from torch's weights.

Tan and Le, EfficientNet (2019), in the Lite variant: relu6, no squeeze and excitation, stem and
head not scaled. Padding is TensorFlow's, with which the weights were trained: the odd pixel goes
to the right and below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BackboneError
from proemlc_ros.features.backbone.onnx_files import GraphWriter

_BATCH_NORM_EPSILON = 1e-3
# Of files that robots were taught with; their hash names the network.
_OPSET, _IR_VERSION = 11, 7


class _BlockGroup(NamedTuple):
    """Blocks of one resolution: how many before scaling, kernel and stride of the first."""

    blocks: int
    kernel: int
    stride: int


_BLOCK_GROUPS = (
    _BlockGroup(1, 3, 1), _BlockGroup(2, 3, 2), _BlockGroup(2, 5, 2), _BlockGroup(3, 3, 2),
    _BlockGroup(3, 5, 1), _BlockGroup(4, 5, 2), _BlockGroup(1, 3, 1))


def lite_network(tensors: Mapping[str, NDArray[Any]], depth: float, input_size: int,
                 notes: Mapping[str, str]) -> bytes:
    """Return the ONNX file of a network.

    Args:
        tensors: weights by torch's names.
        depth: factor of the number of blocks: 1.0 for Lite0, 1.1 and 1.2 for Lite1 and Lite2.
        input_size: side of the image in pixels.
        notes: go into the file as its metadata.

    Raises:
        BackboneError: the weights are not those of such a network.
        MissingDependencyError: the package onnx is not installed.
    """
    builder = _LiteBuilder(tensors, input_size)
    current = builder.convolution('image', '_conv_stem', '_bn0', kernel=3, stride=2)
    number = 0
    for place, group in enumerate(_BLOCK_GROUPS):
        fixed = place in (0, len(_BLOCK_GROUPS) - 1)
        for repeat in range(group.blocks if fixed else math.ceil(depth * group.blocks)):
            current = builder.block(
                current, f'_blocks.{number}.', group.kernel, group.stride if not repeat else 1)
            number += 1
    current = builder.convolution(current, '_conv_head', '_bn1', kernel=1)
    if f'_blocks.{number}._project_conv.weight' in tensors:
        raise BackboneError(f'the weights are of a network with more than {number} blocks')
    return builder.finish(current, input_size, notes)


class _LiteBuilder:
    """Adds layers to a graph and keeps track of the number of channels and of the image's size."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], input_size: int) -> None:
        self._tensors = tensors
        self._graph = GraphWriter()
        self._size = input_size
        self._channels = 3
        self._limits = [self._graph.constant(limit, np.float32, name)
                        for name, limit in (('zero', 0), ('six', 6))]

    def block(self, current: str, prefix: str, kernel: int, stride: int) -> str:
        """Add an inverted residual block; the first one of a network expands nothing."""
        start, channels = current, self._channels
        if f'{prefix}_expand_conv.weight' in self._tensors:
            current = self.convolution(current, f'{prefix}_expand_conv', f'{prefix}_bn0', kernel=1)
        current = self.convolution(
            current, f'{prefix}_depthwise_conv', f'{prefix}_bn1', kernel, stride, grouped=True)
        current = self.convolution(
            current, f'{prefix}_project_conv', f'{prefix}_bn2', kernel=1, active=False)
        if stride == 1 and channels == self._channels:
            current = self._graph.add('Add', current, start, name=f'{prefix}sum')
        return current

    def convolution(self, current: str, name: str, norm: str, kernel: int, stride: int = 1,
                    grouped: bool = False, active: bool = True) -> str:
        """Add a convolution with the batch normalisation behind it folded into it."""
        scale, shift = self._normalisation(norm)
        inputs = 1 if grouped else self._channels
        weights = self._floats(f'{name}.weight', (len(scale), inputs, kernel, kernel))
        groups = self._channels if grouped else 1
        if grouped and len(scale) != self._channels:
            raise BackboneError(f'{name} has {len(scale)} filters for {self._channels} channels')
        result = self._graph.add(
            'Conv', current,
            self._graph.constant(weights * scale[:, np.newaxis, np.newaxis, np.newaxis],
                                 np.float32, f'{name}.weight'),
            self._graph.constant(shift, np.float32, f'{name}.bias'),
            name=f'{name}.out', group=groups, kernel_shape=[kernel, kernel],
            strides=[stride, stride], pads=self._padding(kernel, stride))
        self._channels = len(scale)
        return self._graph.add('Clip', result, *self._limits, name=f'{name}.relu6') if (
            active) else result

    def finish(self, current: str, input_size: int, notes: Mapping[str, str]) -> bytes:
        """Average over the image and return the file."""
        graph = self._graph
        graph.add('Flatten', graph.add('GlobalAveragePool', current, name='pooled'),
                  name='features', axis=1)
        made = graph.graph(
            'efficientnet_lite', [graph.tensor('image', ['batch', 3, input_size, input_size])],
            [graph.tensor('features', ['batch', self._channels])])
        content: bytes = graph.model(made, _OPSET, _IR_VERSION, notes).SerializeToString()
        return content

    def _normalisation(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return factor and summand of a batch normalisation, per channel."""
        count = self._tensors[f'{name}.weight'].shape if f'{name}.weight' in self._tensors else ()
        gain, bias, mean, variance = (
            self._floats(f'{name}.{part}', count)
            for part in ('weight', 'bias', 'running_mean', 'running_var'))
        if gain.ndim != 1 or (variance < 0).any():
            raise BackboneError(f'{name} is not a batch normalisation')
        scale = gain / np.sqrt(variance + _BATCH_NORM_EPSILON)
        return scale, bias - mean * scale

    def _padding(self, kernel: int, stride: int) -> list[int]:
        size = -(-self._size // stride)
        total = max((size - 1) * stride + kernel - self._size, 0)
        self._size = size
        return [total // 2, total // 2, total - total // 2, total - total // 2]

    def _floats(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        values = self._tensors.get(name)
        if values is None:
            raise BackboneError(f'the weights have no {name}; they are of another network')
        if values.shape != shape or values.dtype.kind != 'f':
            raise BackboneError(
                f'{name} is {values.dtype} of shape {values.shape}; the network needs floats of '
                f'shape {shape}')
        if not np.isfinite(values).all():
            raise BackboneError(f'{name} has values that are not finite')
        return values.astype(np.float64)
