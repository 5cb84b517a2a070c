# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A taught model in onnxruntime alone gives the node's scores."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('onnx')
onnxruntime = pytest.importorskip('onnxruntime')

from proemlc_ros.cli.main import main
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import MissingDependencyError, NotReadyError
from proemlc_ros.evaluation.onnx_export import export_model
from proemlc_ros.features.registry import make_extractor

WIDTH = 40
# Runs where this package cannot be imported.
ALONE = """
import json, sys
import numpy as np, onnxruntime
assert 'proemlc_ros' not in sys.modules
session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
scores, = session.run(['scores'], {'features': np.load(sys.argv[2])})
np.save(sys.argv[3], scores)
print(json.dumps(session.get_modelmeta().custom_metadata_map))
"""


def taught(samples=300, **settings):
    """Return a model that has learnt labels of several kinds."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(samples, WIDTH)).astype(np.float32)
    model = ProEMLC(**{'hidden_size': 60, **settings})
    model.learn(rows, [[f'label {column}' for column in np.flatnonzero(row[:5] > 0.5)]
                       for row in rows])
    return model


def vectors(count=1000):
    """Return vectors near and far from what was learnt, one of zeros among them."""
    rows = np.random.default_rng(1).normal(size=(count, WIDTH)).astype(np.float32)
    rows[0] = 0
    rows[1] *= 100
    return rows


def difference(model, made, rows):
    """Return the largest difference of the scores from the node's, which are float32."""
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=['CPUExecutionProvider'])
    found, probable = session.run(['scores', 'probabilities'], {'features': rows})
    node = np.array([model.classify(row).scores for row in rows], np.float32)
    if not model.decision.calibration.uncontrasted.any():
        np.testing.assert_allclose(probable, model.probabilities(rows), atol=1e-5)
    return np.abs(found - node).max()


@pytest.mark.parametrize('activation', [
    'laplacian', 'rbf', 'kernel_sum', 'relu', 'sigmoid', 'tanh', 'sine', 'gaussian',
    'softplus', 'identity'])
@pytest.mark.parametrize('settings', [
    {'scaling': 'standard'}, {'scaling': 'l2', 'direct_links': True, 'whiten': True},
    {'scaling': 'minmax', 'bias': False}, {'scaling': 'none', 'whiten': True},
    {'scaling': 'asinh', 'direct_links': True}, {'scaling': 'rank', 'direct_links': True}],
    ids=lambda settings: settings['scaling'])
def test_every_kind_of_layer_agrees(activation, settings):
    model = taught(activation=activation, **settings)
    assert difference(model, export_model(model), vectors(50)[2:]) < 1e-5


@pytest.mark.parametrize('samples', [1, 7, 300])
def test_a_model_agrees_from_the_first_sample_on(samples):
    model = taught(samples=max(samples, 2))
    assert difference(model, export_model(model), vectors(50)) < 1e-5


def test_a_thousand_vectors_in_onnxruntime_alone(tmp_path, measured):
    model = taught(hidden_size=200)
    model.extra['extractor'] = 'colour_moments/1'
    model.save(tmp_path / 'kitchen.npz')
    assert main(['export', str(tmp_path / 'kitchen.npz')]) == 0
    rows = vectors()
    np.save(tmp_path / 'rows.npy', rows)
    run = subprocess.run(
        [sys.executable, '-I', '-c', ALONE, tmp_path / 'kitchen.onnx', tmp_path / 'rows.npy',
         tmp_path / 'scores.npy'], check=True, capture_output=True, text=True, cwd=tmp_path)
    metadata = json.loads(run.stdout)
    assert json.loads(metadata['labels']) == model.labels
    assert json.loads(metadata['thresholds']) == list(model.thresholds)
    assert metadata['extractor'] == 'colour_moments/1'
    node = np.array([model.classify(row).scores for row in rows], np.float32)
    apart = np.abs(np.load(tmp_path / 'scores.npy') - node).max()
    measured(f'exported model: largest difference of 1,000 vectors {apart:.1e}')
    assert apart < 1e-5


def network(path):
    """Write a network from pictures of 8 x 8 to 12 values, of an older operator set."""
    import onnx
    from onnx import TensorProto, helper
    weights = np.random.default_rng(0).normal(size=(192, 12)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node('Flatten', ['image'], ['flat']),
         helper.make_node('MatMul', ['flat', 'weights'], ['embedding'])], 'network',
        [helper.make_tensor_value_info('image', TensorProto.FLOAT, ['n', 3, 8, 8])],
        [helper.make_tensor_value_info('embedding', TensorProto.FLOAT, ['n', 12])],
        [onnx.numpy_helper.from_array(weights, 'weights')])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)])
    model.ir_version = 8
    onnx.save(model, path)


@pytest.mark.parametrize(('share', 'looks'), [
    (0.0, [1.0]), (0.2, [1.0]), (0.2, [1.0, 0.75, 0.55])])
def test_from_the_input_of_the_network_to_scores(tmp_path, share, looks):
    network(tmp_path / 'network.onnx')
    extractor = make_extractor(
        'onnx_embedding', {'model': str(tmp_path / 'network.onnx'), 'colours': share,
                           'looks': looks})
    rng = np.random.default_rng(2)
    pictures = rng.integers(0, 256, (40, 20, 30, 3), dtype=np.uint8)
    model = ProEMLC(hidden_size=20)
    for number, picture in enumerate(pictures):
        model.learn(extractor(picture), ['ab'[number % 2]])
    model.extra['extractor'] = extractor.name
    model.save(tmp_path / 'model.npz')
    assert main(['export', str(tmp_path / 'model.npz'), '--output', str(tmp_path / 'whole.onnx'),
                 '--backbone', str(tmp_path / 'network.onnx')]) == 0
    session = onnxruntime.InferenceSession(
        str(tmp_path / 'whole.onnx'), providers=['CPUExecutionProvider'])
    tensors = np.concatenate([extractor.prepared(picture).tensor for picture in pictures])
    given = {'image': tensors}
    if share:  # An input of their own: the last values of a vector, without their weight.
        given['colours'] = np.array([extractor(picture)[-256:] for picture in pictures]) / (
            np.float32(np.sqrt(share)))
    (found,) = session.run(['scores'], given)
    node = [model.classify(extractor(picture)).scores for picture in pictures]
    np.testing.assert_allclose(found, node, atol=1e-5)


def test_another_network_is_refused(tmp_path, capsys):
    network(tmp_path / 'network.onnx')
    model = taught()
    for extractor, reason in (('onnx_embedding/1(model=0123456789ab)', 'another network'),
                              ('colour_moments/1', 'not of a network alone')):
        model.extra['extractor'] = extractor
        model.save(tmp_path / 'model.npz')
        assert main(['export', str(tmp_path / 'model.npz'), '--backbone',
                     str(tmp_path / 'network.onnx')]) == 1
        assert reason in capsys.readouterr().err


def test_a_model_that_knows_nothing_is_refused():
    with pytest.raises(NotReadyError, match='teach it'):
        export_model(ProEMLC())


def test_without_the_package_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'onnx', None)
    with pytest.raises(MissingDependencyError, match=r'proemlc_ros\[export\]'):
        export_model(taught(samples=3))
