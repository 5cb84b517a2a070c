# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny ONNX model made here, run by the extractor and by plain NumPy."""

import builtins

import cv2
import numpy as np
import pytest

from proemlc_ros.errors import BadSensorDataError, ExtractorError, MissingDependencyError
from proemlc_ros.features.extractors.images import ColourHistogram
from proemlc_ros.features.extractors.onnx_embedding import OnnxEmbedding, _as_pixels, _ResizedImage
from proemlc_ros.features.registry import make_extractor

onnx = pytest.importorskip('onnx', reason='onnx is not installed')
pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def write_model(path, shape, weights, element=onnx.TensorProto.FLOAT):
    """Write a model: flatten the image, multiply by the weights."""
    helper = onnx.helper
    nodes = [helper.make_node('Cast', ['image'], ['pixels'], to=onnx.TensorProto.FLOAT),
             helper.make_node('Flatten', ['pixels'], ['flat'], axis=1),
             helper.make_node('MatMul', ['flat', 'weights'], ['embedding'])]
    graph = helper.make_graph(
        nodes, 'tiny', [helper.make_tensor_value_info('image', element, shape)],
        [helper.make_tensor_value_info('embedding', onnx.TensorProto.FLOAT, [None, None])],
        [onnx.numpy_helper.from_array(weights.astype(np.float32), 'weights')])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8)
    onnx.save(model, str(path))
    return str(path)


@pytest.fixture
def weights():
    """Weights from a 6x8 colour image to five values."""
    return np.random.default_rng(3).normal(size=(3 * 6 * 8, 5))


def prepared(image):
    """Resize and normalise as the documentation says, in double precision."""
    small = cv2.resize(image.astype(np.float64) / 255, (8, 6), interpolation=cv2.INTER_AREA)
    return (small - MEAN) / DEVIATION


@pytest.mark.parametrize('shape', [[1, 3, 6, 8], ['batch', 3, 6, 8]])
def test_embedding_equals_the_product_in_numpy(tmp_path, camera_image, weights, shape):
    extractor = OnnxEmbedding(model=write_model(tmp_path / 'm.onnx', shape, weights))
    expected = prepared(camera_image).transpose(2, 0, 1).ravel() @ weights
    assert extractor.width == 5
    np.testing.assert_allclose(
        extractor(camera_image), expected / np.linalg.norm(expected), atol=1e-5)


def test_channels_last_are_understood(tmp_path, camera_image, weights):
    extractor = OnnxEmbedding(
        model=write_model(tmp_path / 'm.onnx', [1, 6, 8, 3], weights), normalise=False)
    expected = prepared(camera_image).ravel() @ weights
    np.testing.assert_allclose(extractor(camera_image), expected, atol=1e-4)


def test_eight_bit_models_get_pixels(tmp_path, camera_image, weights):
    extractor = OnnxEmbedding(normalise=False, model=write_model(
        tmp_path / 'm.onnx', [1, 3, 6, 8], weights, onnx.TensorProto.UINT8))
    small = cv2.resize(camera_image.astype(np.float32), (8, 6), interpolation=cv2.INTER_AREA)
    expected = np.rint(small).transpose(2, 0, 1).ravel() @ weights
    np.testing.assert_allclose(extractor(camera_image), expected, rtol=1e-3, atol=3)


def test_open_sizes_take_input_size_and_grey_models_grey(tmp_path, camera_image):
    weights = np.random.default_rng(0).normal(size=(16, 4))
    path = write_model(tmp_path / 'm.onnx', [1, 1, 'rows', 'columns'], weights)
    extractor = OnnxEmbedding(model=path, input_size=4)
    assert extractor(camera_image).shape == (4,)
    assert extractor(camera_image[..., 0]).shape == (4,)


def test_another_network_is_another_extractor(tmp_path, weights):
    one = OnnxEmbedding(model=write_model(tmp_path / 'a.onnx', [1, 3, 6, 8], weights))
    same = OnnxEmbedding(model=write_model(tmp_path / 'b.onnx', [1, 3, 6, 8], weights), threads=2)
    other = OnnxEmbedding(model=write_model(tmp_path / 'c.onnx', [1, 3, 6, 8], weights + 1))
    assert one.name == same.name != other.name
    assert one.name.startswith('onnx_embedding/1(model=')


def test_values_that_are_not_finite_are_rejected(tmp_path, camera_image, weights):
    path = write_model(tmp_path / 'm.onnx', [1, 3, 6, 8], weights * np.nan)
    with pytest.raises(BadSensorDataError):
        OnnxEmbedding(model=path)


def test_unusable_models_say_so(tmp_path, weights):
    (tmp_path / 'text.onnx').write_text('hello')
    path = write_model(tmp_path / 'm.onnx', [1, 3, 6, 8], weights)
    flat = write_model(tmp_path / 'flat.onnx', [1, 144], weights)
    for parameters, text in [
        ({}, 'cannot read'), ({'model': str(tmp_path / 'none.onnx')}, 'cannot read'),
        ({'model': str(tmp_path / 'text.onnx')}, 'not a usable'), ({'model': flat}, 'an image'),
        ({'model': path, 'output': 'other'}, 'embedding'), ({'model': path, 'mean': [1]}, 'three'),
    ]:
        with pytest.raises(ExtractorError, match=text):
            make_extractor('onnx_embedding', parameters)


@pytest.fixture
def no_onnxruntime(monkeypatch):
    """Make the import of onnxruntime fail."""
    real_import = builtins.__import__

    def importing(name, *args, **kwargs):
        if name == 'onnxruntime':
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, '__import__', importing)


def test_without_onnxruntime_the_message_says_what_to_install(
        tmp_path, weights, no_onnxruntime):
    path = write_model(tmp_path / 'm.onnx', [1, 3, 6, 8], weights)
    with pytest.raises(MissingDependencyError, match='pip install'):
        OnnxEmbedding(model=path, engine='onnxruntime')
    assert OnnxEmbedding(model=path).engine_name == 'opencv'


@pytest.mark.parametrize('kind', ['colour', 'grey', 'sixteen bits'])
def test_colours_are_joined_by_their_share(tmp_path, camera_image, weights, kind):
    path = write_model(tmp_path / 'm.onnx', [1, 3, 6, 8], weights)
    image = {'colour': camera_image, 'grey': camera_image[..., 0],
             'sixteen bits': camera_image.astype(np.uint16) * 257}[kind]
    plain, joined = OnnxEmbedding(model=path), OnnxEmbedding(model=path, colours=0.2)
    assert joined.name == f'{plain.name[:-1]};colours=0.2)' and joined.width == 5 + 256
    vector = joined(image)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(vector[:5], np.sqrt(0.8) * plain(image), atol=1e-5)
    eight = camera_image if kind == 'sixteen bits' else image
    small = np.rint(cv2.resize(eight.astype(np.float32), (8, 6), interpolation=cv2.INTER_AREA))
    np.testing.assert_allclose(
        vector[5:], np.sqrt(0.2) * ColourHistogram()(small.astype(np.uint8)), atol=1e-6)
    np.testing.assert_allclose(joined.extract_many([image, image])[1], vector, atol=1e-6)


@pytest.mark.parametrize('colours', [0.0, 0.2])
def test_the_work_divides_where_the_network_begins(tmp_path, camera_image, weights, colours):
    path = write_model(tmp_path / 'm.onnx', ['batch', 3, 6, 8], weights)
    extractor = OnnxEmbedding(model=path, colours=colours)
    ready = extractor.prepared(camera_image)
    assert ready.tensor.shape == (1, 3, 6, 8)
    np.testing.assert_array_equal(extractor.finished(ready), extractor(camera_image))
    with pytest.raises(BadSensorDataError):
        extractor.prepared(np.zeros((0, 4, 3), np.uint8))


def test_shares_of_colours_have_bounds(tmp_path, weights):
    path = write_model(tmp_path / 'm.onnx', [1, 3, 6, 8], weights)
    for wrong in ({'colours': 1.0}, {'colours': -0.1}, {'colours': 0.2, 'normalise': False}):
        with pytest.raises(ExtractorError, match='colours is'):
            OnnxEmbedding(model=path, **wrong)


def test_colours_are_those_of_a_small_image():
    image = np.random.default_rng(0).uniform(0, 255, (224, 300, 3)).astype(np.float32)
    assert _as_pixels(_ResizedImage(image, 255.0)).shape == (112, 112, 3)
    assert _as_pixels(_ResizedImage(image[:50, :60], 255.0)).shape == (50, 60, 3)


@pytest.mark.parametrize('shape', [[1, 3, 6, 8], ['batch', 3, 6, 8]])
def test_several_looks_are_the_mean_of_their_vectors(tmp_path, camera_image, weights, shape):
    path = write_model(tmp_path / 'm.onnx', shape, weights)
    whole = OnnxEmbedding(model=path)
    looks = OnnxEmbedding(model=path, looks=(1.0, 0.75, 0.5), colours=0.2)
    middles = [camera_image, camera_image[60:420, 80:560], camera_image[120:360, 160:480]]
    mean = np.mean([whole(middle) for middle in middles], axis=0)
    vector = looks(camera_image)
    np.testing.assert_allclose(
        vector[:5], np.sqrt(0.8) * mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_array_equal(
        vector[5:], OnnxEmbedding(model=path, colours=0.2)(camera_image)[5:])
    # The same from several images at once, and of an image of one pixel.
    np.testing.assert_allclose(
        looks.extract_many([camera_image[::-1], camera_image, camera_image])[1], vector, atol=1e-6)
    assert np.isfinite(looks(camera_image[:1, :1])).all()
    assert looks.prepared(camera_image).tensor.shape == (3, 3, 6, 8)


def test_the_identity_names_the_looks(tmp_path, weights):
    path = write_model(tmp_path / 'm.onnx', [1, 3, 6, 8], weights)
    one, three = OnnxEmbedding(model=path), OnnxEmbedding(model=path, looks=(1.0, 0.75, 0.55))
    assert three.name == f'{one.name[:-1]};looks=1,0.75,0.55)'
    assert OnnxEmbedding(model=path, looks=(1.0,)).name == one.name
    for wrong in ({'looks': ()}, {'looks': (1.1,)}, {'looks': (0.0,)}, {'looks': (1.0,) * 6},
                  {'looks': (1.0, 0.5), 'normalise': False}):
        with pytest.raises(ExtractorError, match='looks is'):
            OnnxEmbedding(model=path, **wrong)
