# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A taught model as one ONNX file, for programs that have onnxruntime and not this package."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.layer.hidden import HiddenLayer, RandomNeurons
from proemlc_ros.core.layer.radial import GaussianNeurons, KernelSum, RadialNeurons
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.errors import NotReadyError, ParameterError
from proemlc_ros.features.backbone.onnx_files import GraphWriter, onnx_library

OPSET = 17
# The newest file format would keep older runtimes out for nothing.
IR_VERSION = 8
# Reductions take their axes as an input from this version of the operators on.
LEAST_OPSET = 13
FEATURES, COLOURS = 'features', 'colours'
SCORES, PROBABILITIES = 'scores', 'probabilities'
NOT_YET = 'the model has learnt nothing yet; teach it before it is exported'


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
    graph = GraphWriter()
    outputs = _add_outputs(graph, model, FEATURES)
    made = graph.graph('proemlc', [graph.tensor(FEATURES, ['n', model.width])], outputs)
    return _checked(graph.model(made, OPSET, IR_VERSION, _metadata_of(model)))


def export_with_backbone(model: ProEMLC, path: Path) -> Any:
    """Return an ONNX model from the input of a network to the scores of the labels.

    Where colours are joined to the network's output, their shares are an input of their own. Of
    an extractor with several looks, the looks of a picture are behind one another in the batch.

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
    graph = GraphWriter('proemlc_')
    wanted = parameters.get('output') or made.graph.output[0].name
    features = graph.add('Flatten', wanted, axis=1)
    if parameters.get('normalise', 'True') == 'True':
        features = unit_rows(graph, features, np.float32)
    share = float(parameters.get('colours', 0.0))
    if looks := parameters.get('looks', ''):
        # Those of one picture are rows behind one another; their sum points as their mean does.
        # Imported late: it needs OpenCV.
        from proemlc_ros.features.extractors.images import ColourHistogram
        width = (model.width or 0) - (ColourHistogram().width if share else 0)
        sides = graph.constant([-1, len(looks.split(',')), width], np.int64)
        features = unit_rows(
            graph, graph.sum_of(graph.add('Reshape', features, sides), 1, False), np.float32)
    if share:
        made.graph.input.append(graph.tensor(COLOURS, ['n', None]))
        features = graph.add('Concat', *(
            graph.add('Mul', part, graph.constant(np.sqrt(weight), np.float32))
            for part, weight in ((features, 1.0 - share), (COLOURS, share))), axis=1)
    outputs = _add_outputs(graph, model, features)
    made.graph.node.extend(graph.nodes)
    made.graph.initializer.extend(graph.constants)
    del made.graph.output[:]
    made.graph.output.extend(outputs)
    onnx.helper.set_model_props(
        made, {**_metadata_of(model), 'pictures': _picture_steps(parameters)})
    return _checked(made)


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


def _picture_steps(parameters: dict[str, str]) -> str:
    """Return how a picture becomes the input of the network; empty: standalone.py cannot do it."""
    # The margin is around boxes; whole pictures have none.
    known = {'model', 'output', 'input_size', 'normalise', 'colours', 'mean', 'deviation',
             'looks', 'margin'}
    if not parameters.keys() <= known or any('#' in text for text in parameters.values()):
        return ''
    # Imported late: it needs OpenCV.
    from proemlc_ros.features.extractors.onnx_embedding import OnnxEmbedding
    default: dict[str, Any] = {
        one.name: one.default for one in fields(OnnxEmbedding)}
    stated = {name: [float(part) for part in parameters[name].split(',')] if name in parameters
              else list(default[name]) for name in ('mean', 'deviation', 'looks')}
    size = int(parameters.get('input_size', default['input_size']))
    return json.dumps({**stated, 'size': size})


def _add_outputs(graph: GraphWriter, model: ProEMLC, features: str) -> list[Any]:
    """Add everything from features to scores and probabilities; return their descriptions."""
    onnx = onnx_library()
    layer = model.layer
    if layer is None or not model.labels:
        raise NotReadyError(NOT_YET)
    samples = graph.add('Cast', features, to=onnx.TensorProto.DOUBLE)
    hidden = _hidden_rows(graph, layer, samples)
    scores = graph.add('MatMul', hidden, graph.constant(model.weights))
    graph.add('Cast', scores, name=SCORES, to=onnx.TensorProto.FLOAT)
    _add_probabilities(graph, model, scores)
    return [graph.tensor(name, ['n', len(model.labels)]) for name in (SCORES, PROBABILITIES)]


def _add_probabilities(graph: GraphWriter, model: ProEMLC, scores: str) -> None:
    """Add the logistic curve of each label; a label that no sample shows has probability 0."""
    curve = model.decision.with_labels(len(model.labels)).calibration
    sums = graph.add('Add', graph.add('Mul', scores, graph.constant(0.5 * curve.slopes)),
                     graph.constant(0.5 * curve.offsets))
    half = graph.constant(0.5 * (np.array(model.counts) > 0))
    found = graph.add('Add', graph.add('Mul', graph.add('Tanh', sums), half), half)
    graph.add('Cast', found, name=PROBABILITIES, to=onnx_library().TensorProto.FLOAT)


def _checked(made: Any) -> Any:
    onnx_library().checker.check_model(made)
    return made


def _metadata_of(model: ProEMLC) -> dict[str, str]:
    """Return what a user of the file needs beside the numbers, as text."""
    decision = model.decision
    return {
        'labels': json.dumps(model.labels, ensure_ascii=False),
        'thresholds': json.dumps([float(value) for value in model.thresholds]),
        'extractor': str(model.extra.get('extractor') or ''),
        'samples': str(model.samples),
        'decision': decision.rule,
        'deciding': json.dumps({
            'rule': decision.rule, 'threshold': float(decision.threshold),
            'at_least': int(decision.at_least), 'empty': float(decision.empty),
            'exclusive': bool(decision.exclusive), 'tolerance': float(decision.tolerance)}),
    }


def _hidden_rows(graph: GraphWriter, layer: HiddenLayer, samples: str) -> str:
    """Add the hidden layer: [neurons, scaled input (direct links), 1 (bias)]."""
    scaled = _scaled_rows(graph, layer, samples)
    if isinstance(layer, RandomNeurons):
        parts = [_random_neurons(graph, layer, scaled if layer.scaling.unit_rows
                                 or layer.scaling.curved else samples)]
    elif isinstance(layer, RadialNeurons):
        parts = [whitened(graph, layer, _answers_of(graph, layer, samples, scaled))]
    else:
        raise TypeError(f'no export is known of {type(layer).__name__}')
    if layer.options.direct_links:
        parts.append(scaled)
    if layer.options.bias:
        # One for each row, whatever its values: they are finite.
        zeros = graph.add('Mul', graph.sum_of(samples, 1, True), graph.constant(0.0))
        parts.append(graph.add('Add', zeros, graph.constant(1.0)))
    return graph.add('Concat', *parts, axis=1) if len(parts) > 1 else parts[0]


def _scaled_rows(graph: GraphWriter, layer: HiddenLayer, samples: str) -> str:
    """Add the scaling of the input."""
    scaling = layer.scaling
    if scaling.unit_rows:
        return unit_rows(graph, samples, np.float64)
    if scaling.knots is not None:
        return ranks(graph, scaling, samples)
    moved = graph.add('Sub', samples, graph.constant(scaling.shift))
    scaled = graph.add('Mul', moved, graph.constant(scaling.factor))
    if not scaling.curved:
        return scaled
    # asinh(x) = sign(x) log(|x| + sqrt(x^2 + 1)); Asinh itself is for 32 bits in onnxruntime.
    size = graph.add('Abs', scaled)
    root = graph.add('Sqrt', graph.add('Add', graph.add('Mul', scaled, scaled),
                                       graph.constant(1.0)))
    return graph.add('Mul', graph.add('Sign', scaled),
                     graph.add('Log', graph.add('Add', size, root)))


def ranks(graph: GraphWriter, scaling: Scaling, samples: str) -> str:
    """Add the ranks of values: what each line between two knots adds to the first rank."""
    first, lines = scaling.rank_lines()
    total = graph.constant(first)
    for low, high, slope in lines:
        start = np.where(np.isfinite(low), low, high)
        within = graph.add('Min', graph.add('Max', samples, graph.constant(low)),
                           graph.constant(high))
        total = graph.add('Add', total, graph.add(
            'Mul', graph.add('Sub', within, graph.constant(start)), graph.constant(slope)))
    return total


def unit_rows(graph: GraphWriter, rows: str, dtype: Any) -> str:
    """Add the scaling of rows to length one; a row of zeros stays as it is."""
    squares = graph.sum_of(graph.add('Mul', rows, rows), 1, True)
    norms = graph.add('Sqrt', squares)
    positive = graph.add('Greater', norms, graph.constant(0.0, dtype))
    return graph.add('Div', rows, graph.add('Where', positive, norms, graph.constant(1.0, dtype)))


def _random_neurons(graph: GraphWriter, layer: RandomNeurons, rows: str) -> str:
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


def _answers_of(graph: GraphWriter, layer: RadialNeurons, samples: str, scaled: str) -> str:
    """Add neurons around centres: of one kernel, or the mean of several."""
    if not isinstance(layer, KernelSum):
        return _radial_neurons(graph, layer, scaled)
    ranked = _scaled_rows(graph, layer.parts[2], samples)
    answers = graph.add('Sum', *(_radial_neurons(graph, part, rows) for part, rows in zip(
        layer.parts, (scaled, scaled, ranked, ranked), strict=True)))
    return graph.add('Mul', answers, graph.constant(1.0 / len(layer.parts)))


def whitened(graph: GraphWriter, layer: RadialNeurons, answers: str) -> str:
    """Add the whitening of neurons, where the layer has one."""
    if layer.whitener is None:
        return answers
    return graph.add('MatMul', answers, graph.constant(np.tril(layer.whitener).T))


def _radial_neurons(graph: GraphWriter, layer: RadialNeurons, scaled: str) -> str:
    """Add neurons of one kernel around centres."""
    if isinstance(layer, GaussianNeurons):
        products = graph.add('MatMul', scaled, graph.constant(-2.0 * layer.centres.T))
        squares = graph.sum_of(graph.add('Mul', scaled, scaled), 1, True)
        summed = graph.add('Add', graph.add('Add', products, squares),
                           graph.constant((layer.centres ** 2).sum(axis=1)))
        distances = graph.add('Max', summed, graph.constant(0.0))
    else:
        distances = absolute_differences(graph, layer, scaled)
    return graph.add('Exp', graph.add('Mul', distances, graph.constant(-layer.gamma)))


def absolute_differences(graph: GraphWriter, layer: RadialNeurons, scaled: str) -> str:
    """Add the sums of absolute differences, row by row: all at once would take much memory."""
    body = GraphWriter('inner_')
    centres = graph.constant(layer.centres)
    apart = body.add('Abs', body.add('Sub', centres, 'row'))
    body.add('ReduceSum', apart, body.constant([1], np.int64), name='distances', keepdims=0)
    inner = body.graph('of_one_row', [body.tensor('row', [layer.width], 'DOUBLE')],
                       [body.tensor('distances', [layer.neurons], 'DOUBLE')])
    return graph.add('Scan', scaled, body=inner, num_scan_inputs=1)
