# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A network runs on the best that onnxruntime has, and on the processor where that fails."""

import numpy as np
import pytest

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.network import open_network

onnx = pytest.importorskip('onnx', reason='onnx is not installed')
onnxruntime = pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')

IMAGE = np.ones((1, 3, 2, 2), np.float32)


@pytest.fixture
def path(tmp_path):
    """A network that flattens its image."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node('Flatten', ['image'], ['flat'])], 'flat',
        [helper.make_tensor_value_info('image', kind, [1, 3, 2, 2])],
        [helper.make_tensor_value_info('flat', kind, [1, 12])])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid('', 13)]),
              tmp_path / 'flat.onnx')
    return str(tmp_path / 'flat.onnx')


@pytest.fixture
def providers(monkeypatch):
    """Give onnxruntime providers that load, fail, or are silently left out, as it does."""
    real = onnxruntime.InferenceSession

    def give(**states):
        asked = []

        class Session:
            """A session on the processor that says what it would run on."""

            def __init__(self, content, options, providers):
                name = providers[0].removesuffix('ExecutionProvider')
                asked.append(name)
                if states[name] == 'fails':
                    raise RuntimeError(f'no device for {name}')
                self._given = providers if states[name] == 'loads' else providers[1:]
                self._session = real(content, options, providers=['CPUExecutionProvider'])
                self.run = self._session.run

            def get_providers(self):
                return self._given

        monkeypatch.setattr(onnxruntime, 'InferenceSession', Session)
        monkeypatch.setattr(onnxruntime, 'get_available_providers',
                            lambda: [f'{name}ExecutionProvider' for name in states])
        return asked
    return give


@pytest.mark.parametrize(('states', 'engine', 'problems'), [
    ({'CUDA': 'loads', 'Tensorrt': 'loads', 'CPU': 'loads'}, 'onnxruntime on tensorrt', []),
    ({'CPU': 'loads', 'CUDA': 'loads', 'Tensorrt': 'fails'}, 'onnxruntime on cuda',
     ['tensorrt: no device']),
    ({'CUDA': 'missing', 'CPU': 'loads'}, 'onnxruntime', ['cuda: onnxruntime could not load']),
    ({'OpenVINO': 'loads', 'CoreML': 'loads', 'CPU': 'loads'}, 'onnxruntime on openvino', []),
    ({'Azure': 'loads', 'CPU': 'loads'}, 'onnxruntime', []),
], ids=str)
def test_the_first_that_works_is_taken(path, providers, states, engine, problems):
    asked = providers(**states)
    network = open_network(path)
    assert network.engine == engine and 'Azure' not in asked
    assert bool(network.problem) == bool(problems)
    assert all(problem in network.problem for problem in problems)
    np.testing.assert_array_equal(network.run(IMAGE), np.ones((1, 12)))


def test_one_can_be_named(path, providers):
    asked = providers(Tensorrt='loads', CUDA='loads', CPU='loads')
    assert open_network(path, providers='cuda').engine == 'onnxruntime on cuda'
    assert open_network(path, providers='cpu').engine == 'onnxruntime'
    network = open_network(path, providers='openvino')
    assert network.engine == 'onnxruntime' and 'openvino: this onnxruntime' in network.problem
    assert asked == ['CUDA', 'CPU', 'CPU']
    with pytest.raises(ExtractorError, match='providers is'):
        open_network(path, providers='gpu')


def test_the_processor_of_this_machine(path):
    network = open_network(path, providers='cpu')
    assert network.engine == 'onnxruntime' and network.problem == ''
    np.testing.assert_array_equal(network.run(IMAGE), np.ones((1, 12)))
