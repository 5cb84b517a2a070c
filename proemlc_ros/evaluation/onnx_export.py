# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A taught model as one ONNX file, for programs that have onnxruntime and not this package."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.neurons import RandomNeurons
from proemlc_ros.core.layer.radial import GaussianNeurons, RadialNeurons
from proemlc_ros.errors import MissingDependencyError, NotReadyError

# Reductions take their axes as an input from this version of the operators on.
OPSET = 17
FEATURES, SCORES, NOT_YET = 'features', 'scores', (
    'the model has learnt nothing yet; teach it before it is exported')
_PRODUCER = 'proemlc_ros'


def onnx_library() -> Any:
    """Return the package onnx.

    Raises:
        MissingDependencyError: it is not installed.

    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError(
            'the export needs the package onnx: pip install "proemlc_ros[export]" or pip install '
            'onnx') from error
    return onnx


class GraphWriter:
    """Collects the nodes and constants of an ONNX graph; all values are of 64 bits.

    Args:
        onnx: the package.
        prefix: of all names; those of a graph within another must be unlike its own.

    """

    def __init__(self, onnx: Any, prefix: str = '') -> None:
        """Start with nothing."""
        self._prefix = prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._onnx = onnx

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Add a constant and return its name."""
        name = f'{self._prefix}constant{len(self.constants)}'
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def add(self, operator: str, *inputs: str, name: str = '', **attributes: Any) -> str:
        """Add a node with one output and return the name of that."""
        output = name or f'{self._prefix}value{len(self.nodes)}'
        self.nodes.append(self._onnx.helper.make_node(
            operator, list(inputs), [output], **attributes))
        return output

    def sum_of(self, values: str, axis: int, keep: bool) -> str:
        """Add up along an axis."""
        return self.add('ReduceSum', values, self.constant([axis], np.int64), keepdims=int(keep))


def export_model(model: ProEMLC, opset: int = OPSET) -> Any:
    """Return an ONNX model from feature vectors to the scores of the labels.

    Input `features` (n, width) and output `scores` (n, labels) are float32, as in the messages;
    in between it calculates with 64 bits, as the node does.

    Args:
        model: what was taught.
        opset: version of the operators, at least 13.

    Raises:
        MissingDependencyError: the package onnx is not installed.
        NotReadyError: nothing was learnt yet.

    """
    onnx = onnx_library()
    layer = model.layer
    if layer is None or not model.labels:
        raise NotReadyError(NOT_YET)
    helper, kind = onnx.helper, onnx.TensorProto
    graph = GraphWriter(onnx)
    samples = graph.add('Cast', FEATURES, to=kind.DOUBLE)
    hidden = hidden_rows(graph, layer, samples)
    scores = graph.add('MatMul', hidden, graph.constant(model.weights))
    graph.add('Cast', scores, name=SCORES, to=kind.FLOAT)
    made = helper.make_model(helper.make_graph(
        graph.nodes, 'proemlc', [helper.make_tensor_value_info(
            FEATURES, kind.FLOAT, ['n', layer.width])],
        [helper.make_tensor_value_info(SCORES, kind.FLOAT, ['n', len(model.labels)])],
        graph.constants), producer_name=_PRODUCER,
        opset_imports=[helper.make_opsetid('', opset)])
    # The newest file format would keep older runtimes out for nothing.
    made.ir_version = min(made.ir_version, 8)
    helper.set_model_props(made, metadata_of(model))
    onnx.checker.check_model(made)
    return made


def metadata_of(model: ProEMLC) -> dict[str, str]:
    """Return what a user of the file needs beside the numbers, as text."""
    return {
        'labels': json.dumps(model.labels, ensure_ascii=False),
        'thresholds': json.dumps([float(value) for value in model.thresholds]),
        'extractor': str(model.extra.get('extractor') or ''),
        'samples': str(model.samples),
    }


def hidden_rows(graph: GraphWriter, layer: HiddenLayer, samples: str) -> str:
    """Add the hidden layer: [neurons, scaled input (direct links), 1 (bias)]."""
    scaled = scaled_rows(graph, layer, samples)
    if isinstance(layer, RandomNeurons):
        parts = [random_neurons(graph, layer, scaled if layer.scaling.unit_rows else samples)]
    elif isinstance(layer, RadialNeurons):
        parts = [radial_neurons(graph, layer, scaled)]
    else:
        raise TypeError(f'no export is known of {type(layer).__name__}')
    if layer.options.direct_links:
        parts.append(scaled)
    if layer.options.bias:
        # One for each row, whatever its values: they are finite.
        zeros = graph.add('Mul', graph.sum_of(samples, 1, True), graph.constant(0.0))
        parts.append(graph.add('Add', zeros, graph.constant(1.0)))
    return graph.add('Concat', *parts, axis=1) if len(parts) > 1 else parts[0]


def scaled_rows(graph: GraphWriter, layer: HiddenLayer, samples: str) -> str:
    """Add the scaling of the input."""
    scaling = layer.scaling
    if not scaling.unit_rows:
        moved = graph.add('Sub', samples, graph.constant(scaling.shift))
        return graph.add('Mul', moved, graph.constant(scaling.factor))
    squares = graph.sum_of(graph.add('Mul', samples, samples), 1, True)
    norms = graph.add('Sqrt', squares)
    # A row of zeros stays one.
    at_least = graph.add('Where', graph.add('Greater', norms, graph.constant(0.0)), norms,
                         graph.constant(1.0))
    return graph.add('Div', samples, at_least)


def random_neurons(graph: GraphWriter, layer: RandomNeurons, rows: str) -> str:
    """Add neurons with random weights, which have the scaling in them."""
    sums = graph.add('Add', graph.add('MatMul', rows, graph.constant(layer.weights)),
                     graph.constant(layer.offset))
    activation = layer.options.activation
    if activation == 'relu':
        return graph.add('Max', sums, graph.constant(0.0))
    if activation == 'tanh':
        return graph.add('Tanh', sums)
    if activation == 'sine':
        return graph.add('Sin', sums)
    if activation == 'sigmoid':
        half = graph.constant(0.5)
        turned = graph.add('Tanh', graph.add('Mul', sums, half))
        return graph.add('Add', graph.add('Mul', turned, half), half)
    if activation == 'gaussian':
        return graph.add('Exp', graph.add('Neg', graph.add('Mul', sums, sums)))
    if activation == 'softplus':
        # log(1 + exp(x)) without overflow
        small = graph.add('Exp', graph.add('Neg', graph.add('Abs', sums)))
        rest = graph.add('Log', graph.add('Add', small, graph.constant(1.0)))
        return graph.add('Add', graph.add('Max', sums, graph.constant(0.0)), rest)
    return sums


def radial_neurons(graph: GraphWriter, layer: RadialNeurons, scaled: str) -> str:
    """Add neurons around centres, whitened where the layer is."""
    if isinstance(layer, GaussianNeurons):
        products = graph.add('MatMul', scaled, graph.constant(-2.0 * layer.centres.T))
        squares = graph.sum_of(graph.add('Mul', scaled, scaled), 1, True)
        summed = graph.add('Add', graph.add('Add', products, squares),
                           graph.constant((layer.centres ** 2).sum(axis=1)))
        distances = graph.add('Max', summed, graph.constant(0.0))
    else:
        distances = absolute_differences(graph, layer, scaled)
    answers = graph.add('Exp', graph.add('Mul', distances, graph.constant(-layer.gamma)))
    if layer.whitener is None:
        return answers
    return graph.add('MatMul', answers, graph.constant(np.tril(layer.whitener).T))


def absolute_differences(graph: GraphWriter, layer: RadialNeurons, scaled: str) -> str:
    """Add the sums of absolute differences, row by row: all at once would take much memory."""
    onnx = onnx_library()
    helper, kind = onnx.helper, onnx.TensorProto
    body = GraphWriter(onnx, 'inner_')
    centres = graph.constant(layer.centres)
    apart = body.add('Abs', body.add('Sub', centres, 'row'))
    axis = onnx.numpy_helper.from_array(np.array([1], np.int64), 'axis')
    body.add('ReduceSum', apart, 'axis', name='distances', keepdims=0)
    inner = helper.make_graph(
        body.nodes, 'of_one_row',
        [helper.make_tensor_value_info('row', kind.DOUBLE, [layer.width])],
        [helper.make_tensor_value_info('distances', kind.DOUBLE, [layer.neurons])], [axis])
    return graph.add('Scan', scaled, body=inner, num_scan_inputs=1)
