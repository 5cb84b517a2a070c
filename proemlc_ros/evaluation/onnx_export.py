# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A taught model as one ONNX file, for programs that have onnxruntime and not this package."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.neurons import RandomNeurons
from proemlc_ros.core.layer.radial import GaussianNeurons, RadialNeurons
from proemlc_ros.errors import MissingDependencyError, NotReadyError, ParameterError

OPSET = 17
# Reductions take their axes as an input from this version of the operators on.
LEAST_OPSET = 13
FEATURES, COLOURS = 'features', 'colours'
SCORES, PROBABILITIES = 'scores', 'probabilities'
NOT_YET = 'the model has learnt nothing yet; teach it before it is exported'
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


def export_model(model: ProEMLC) -> Any:
    """Return an ONNX model from feature vectors to the scores of the labels.

    Input `features` (n, width) and output `scores` (n, labels) are float32, as in the messages;
    in between it calculates with 64 bits, as the node does.

    Args:
        model: what was taught.

    Raises:
        MissingDependencyError: the package onnx is not installed.
        NotReadyError: nothing was learnt yet.

    """
    onnx = onnx_library()
    helper, kind = onnx.helper, onnx.TensorProto
    graph = GraphWriter(onnx)
    outputs = _add_outputs(graph, model, FEATURES)
    made = helper.make_model(
        helper.make_graph(graph.nodes, 'proemlc', [helper.make_tensor_value_info(
            FEATURES, kind.FLOAT, ['n', model.width])], outputs, graph.constants),
        producer_name=_PRODUCER, opset_imports=[helper.make_opsetid('', OPSET)])
    # The newest file format would keep older runtimes out for nothing.
    made.ir_version = min(made.ir_version, 8)
    return _finished(onnx, made, model)


def export_with_backbone(model: ProEMLC, path: Path) -> Any:
    """Return an ONNX model from the input of a network to the scores of the labels.

    Where colours are joined to the network's output, their shares are an input of their own.

    Args:
        model: what was taught, with features of that network alone.
        path: the network's ONNX file.

    Raises:
        MissingDependencyError: the package onnx is not installed.
        NotReadyError: nothing was learnt yet.
        ParameterError: the features are not of that network.

    """
    onnx = onnx_library()
    content = path.read_bytes()
    parameters = _extractor_parameters(model, hashlib.sha256(content).hexdigest())
    made = onnx.load_from_string(content)
    version = next(entry.version for entry in made.opset_import if entry.domain in ('', 'ai.onnx'))
    if version < LEAST_OPSET:
        made = onnx.version_converter.convert_version(made, LEAST_OPSET)
    graph = GraphWriter(onnx, 'proemlc_')
    wanted = parameters.get('output') or made.graph.output[0].name
    features = graph.add('Flatten', wanted, axis=1)
    if parameters.get('normalise', 'True') == 'True':
        features = unit_rows(graph, features, np.float32)
    if share := float(parameters.get('colours', 0.0)):
        made.graph.input.append(onnx.helper.make_tensor_value_info(
            COLOURS, onnx.TensorProto.FLOAT, ['n', None]))
        features = graph.add('Concat', *(
            graph.add('Mul', part, graph.constant(np.sqrt(weight), np.float32))
            for part, weight in ((features, 1.0 - share), (COLOURS, share))), axis=1)
    outputs = _add_outputs(graph, model, features)
    made.graph.node.extend(graph.nodes)
    made.graph.initializer.extend(graph.constants)
    del made.graph.output[:]
    made.graph.output.extend(outputs)
    return _finished(onnx, made, model)


def _extractor_parameters(model: ProEMLC, digest: str) -> dict[str, str]:
    """Return what the model's extractor states of its network, once it is that of the file."""
    extractor = str(model.extra.get('extractor') or '')
    kind, _, stated = extractor.removesuffix(')').partition('(')
    parameters = dict(part.partition('=')[::2] for part in stated.split(';'))
    if not kind.startswith('onnx_embedding/') or '+' in extractor:
        raise ParameterError(
            f'the features are of {extractor or "an extractor that is not stated"}, not of a '
            'network alone; export without --backbone: from features to scores')
    if parameters.get('model') != digest[:12]:
        raise ParameterError(
            f'the features are of another network (hash {parameters.get("model")}) than this '
            f'file (hash {digest[:12]}); give the file that the feature node uses')
    return parameters


def _add_outputs(graph: GraphWriter, model: ProEMLC, features: str) -> list[Any]:
    """Add everything from features to scores and probabilities; return their descriptions."""
    onnx = onnx_library()
    layer = model.layer
    if layer is None or not model.labels:
        raise NotReadyError(NOT_YET)
    samples = graph.add('Cast', features, to=onnx.TensorProto.DOUBLE)
    hidden = hidden_rows(graph, layer, samples)
    scores = graph.add('MatMul', hidden, graph.constant(model.weights))
    graph.add('Cast', scores, name=SCORES, to=onnx.TensorProto.FLOAT)
    _add_probabilities(graph, model, scores)
    return [onnx.helper.make_tensor_value_info(
        name, onnx.TensorProto.FLOAT, ['n', len(model.labels)])
        for name in (SCORES, PROBABILITIES)]


def _add_probabilities(graph: GraphWriter, model: ProEMLC, scores: str) -> None:
    """Add the logistic curve of each label; a label that no sample shows has probability 0."""
    curve = model.decision.with_labels(len(model.labels)).calibration
    sums = graph.add('Add', graph.add('Mul', scores, graph.constant(0.5 * curve.slopes)),
                     graph.constant(0.5 * curve.offsets))
    half = graph.constant(0.5 * (np.array(model.counts) > 0))
    found = graph.add('Add', graph.add('Mul', graph.add('Tanh', sums), half), half)
    graph.add('Cast', found, name=PROBABILITIES, to=onnx_library().TensorProto.FLOAT)


def _finished(onnx: Any, made: Any, model: ProEMLC) -> Any:
    onnx.helper.set_model_props(made, metadata_of(model))
    onnx.checker.check_model(made)
    return made


def metadata_of(model: ProEMLC) -> dict[str, str]:
    """Return what a user of the file needs beside the numbers, as text."""
    return {
        'labels': json.dumps(model.labels, ensure_ascii=False),
        'thresholds': json.dumps([float(value) for value in model.thresholds]),
        'extractor': str(model.extra.get('extractor') or ''),
        'samples': str(model.samples),
        'decision': model.decision.rule,
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
    return unit_rows(graph, samples, np.float64)


def unit_rows(graph: GraphWriter, rows: str, dtype: Any) -> str:
    """Add the scaling of rows to length one; a row of zeros stays as it is."""
    squares = graph.sum_of(graph.add('Mul', rows, rows), 1, True)
    norms = graph.add('Sqrt', squares)
    positive = graph.add('Greater', norms, graph.constant(0.0, dtype))
    return graph.add('Div', rows, graph.add('Where', positive, norms, graph.constant(1.0, dtype)))


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
