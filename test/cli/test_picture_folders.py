# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of pictures as data sets: folders as labels, CSV, COCO, Pascal VOC; broken pictures."""

import json
import os
import socket

import cv2
import numpy as np
import pytest

from proemlc_ros.bags.picture_labels import read_picture_labels
from proemlc_ros.bags.pictures import open_source
from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.main import main
from proemlc_ros.cli.teach import _check_port, _default_folder, _with_topic, features_file
from proemlc_ros.demo.processes import own_domain
from proemlc_ros.demo.tabletop import TeachableTable
from proemlc_ros.errors import BagError, DataSetError, DemoError, ParameterError
from proemlc_ros.files import natural_key

COLOURS = {'red': (0, 0, 255), 'green': (0, 255, 0), 'blue': (255, 0, 0)}


def write(path, *colours, seed=0):
    """Write a noisy picture with bars of some colours."""
    pixels = np.zeros((40, 60, 3), np.uint8)
    for place, colour in enumerate(colours):
        pixels[:, 20 * place:20 * place + 20] = COLOURS[colour]
    noise = np.random.default_rng(seed).integers(0, 20, pixels.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.clip(pixels + noise, 0, 255).astype(np.uint8))


@pytest.fixture
def folders(tmp_path):
    for colour in COLOURS:
        for number in range(8):
            write(tmp_path / 'set' / colour / f'{number}.png', colour, seed=number)
    (tmp_path / 'set' / 'red' / 'broken.jpg').write_bytes(b'\xff\xd8 no picture')
    (tmp_path / 'set' / '.hidden.png').write_bytes(b'')
    return tmp_path / 'set'


def labels_in(folder, columns=None):
    found = read_picture_labels(folder, columns)
    return {one.path.name: one.labels for one in found.pictures}, found.notes


def test_folder_per_label_in_all_commands(folders, tmp_path, capsys):
    bag = tmp_path / 'bag'
    assert main(['bag', 'make', str(folders), '-o', str(bag), '--extract', 'colour_moments']) == 0
    out = capsys.readouterr().out
    assert 'broken.jpg: not a whole picture' in out and '24 samples' in out and '3 labels' in out
    model = tmp_path / 'model.npz'
    assert main(['train', str(folders), '-o', str(model), '--extract', 'colour_moments',
                 '--activation', 'relu']) == 0
    assert '24 samples from 1 bag, 3 labels' in capsys.readouterr().out
    for data in (folders, bag):
        assert main(['evaluate', str(data), '--model', str(model), '--frozen',
                     *(['--extract', 'colour_moments'] if data is folders else []),
                     '--fail-above', 'hamming=0.05']) == 0


def test_csv_of_files_and_labels(tmp_path):
    for name in ('a.png', 'b.png', 'c.png'):
        write(tmp_path / name, 'red')
    table = tmp_path / 'labels.csv'
    table.write_text('file,labels\na.png,cup;red\nb.png,\ngone.png,cup\n')
    found, notes = labels_in(tmp_path)
    assert found == {'a.png': ('cup', 'red'), 'b.png': ()}
    assert notes == ['annotated, but not there: gone.png', 'there, but not annotated: c.png']
    table.write_text('file,label,x\na.png,cup,0.1\na.png,bowl,0.2\na.png,cup,0.3\n')
    assert labels_in(tmp_path)[0] == {'a.png': ('cup', 'bowl')}
    table.write_text('file,coarse,fine\na.png,fruit,apple\nb.png,fruit,pear\n')
    assert labels_in(tmp_path)[0]['b.png'] == ('fruit', 'pear')
    assert labels_in(tmp_path, ('fine',))[0]['b.png'] == ('pear',)
    table.write_text('image,cup,red\na.png,1,0\nb.png,1,1\n')
    assert labels_in(tmp_path)[0] == {'a.png': ('cup',), 'b.png': ('cup', 'red')}
    table.write_text('file,label\na.png,1\nb.png,0\n')
    assert labels_in(tmp_path)[0] == {'a.png': ('1',), 'b.png': ('0',)}


def test_coco_and_pascal_voc(tmp_path):
    coco, voc = tmp_path / 'coco', tmp_path / 'voc'
    write(coco / 'images' / 'a.jpg', 'red')
    (coco / 'instances.json').write_text(json.dumps({
        'images': [{'id': 7, 'file_name': 'a.jpg'}],
        'categories': [{'id': 1, 'name': 'cup'}, {'id': 2, 'name': 'dog'}],
        'annotations': [{'image_id': 7, 'category_id': 2, 'bbox': [0, 0, 9, 9]},
                        {'image_id': 7, 'category_id': 1, 'bbox': [0, 0, 9, 9]},
                        {'image_id': 7, 'category_id': 2, 'bbox': [5, 5, 9, 9]}]}))
    assert labels_in(coco)[0] == {'a.jpg': ('dog', 'cup')}
    write(voc / 'JPEGImages' / '1.jpg', 'red')
    (voc / 'Annotations').mkdir()
    (voc / 'Annotations' / '1.xml').write_text(
        '<annotation><filename>1.jpg</filename><object><name>cup</name></object>'
        '<object><name>bowl</name></object></annotation>')
    assert labels_in(voc)[0] == {'1.jpg': ('cup', 'bowl')}


def test_mistakes_are_named(tmp_path, capsys):
    with pytest.raises(DataSetError, match='no such folder'):
        read_picture_labels(tmp_path / 'nowhere')
    with pytest.raises(DataSetError, match='no picture in it'):
        read_picture_labels(tmp_path)
    write(tmp_path / 'a.png', 'red')
    with pytest.raises(DataSetError, match='no labels for a.png'):
        read_picture_labels(tmp_path)
    (tmp_path / 'labels.csv').write_text('name,labels\na.png,x\n')
    with pytest.raises(DataSetError, match='call it file'):
        read_picture_labels(tmp_path)
    for words in (['--images', str(tmp_path / 'nowhere')], ['--video', str(tmp_path / 'a.png')],
                  ['--camera', '93'], ['--bag', str(tmp_path / 'nowhere')],
                  ['--images', str(tmp_path), '--topic', '/x']):
        assert main(['teach', *words, '--folder', str(tmp_path / 'teach')]) == 1
        error = capsys.readouterr().err
        assert error.startswith('proemlc: ') and 'Traceback' not in error
    assert not (tmp_path / 'teach').exists()


def test_sources_go_back_and_forth(folders, tmp_path):
    source = open_source('images', str(folders), 30)
    assert source.count == 25 and source.name(0) == 'blue/0.png'
    assert source.read(0).shape == (20, 30, 3) and source.read(0)[5, 5].argmax() == 2
    video = tmp_path / 'video.avi'
    writer = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*'MJPG'), 10, (64, 48))
    for shade in range(0, 200, 20):
        writer.write(np.full((48, 64, 3), shade, np.uint8))
    writer.release()
    source = open_source('video', str(video), 640)
    assert (source.count, source.rate, source.name(5)) == (10, 10.0, '0.5 s')
    assert [round(float(source.read(place).mean()) / 20) for place in (9, 2, 3)] == [9, 2, 3]


def test_pictures_of_a_bag(shared):
    bag = str(shared / 'bags' / 'klintan_sample' / 'sample.db3')
    with pytest.raises(BagError, match='/image, /image/compressed.*--topic'):
        open_source('bag', bag, 320)
    for topic in ('/image', '/image/compressed'):
        source = open_source('bag', bag, 320, topic)
        assert source.count == 1 and max(source.read(0).shape) == 320
        assert source.name(0) == '0.0 s'


def test_topics_without_images_are_named_before_anything_starts(tmp_path, capsys):
    make_bag(tmp_path / 'bag', [(np.zeros(4, np.float32), ('cup',))])
    for words, told in (((), 'there are no images in it'),
                        (('--topic', '/proemlc/features'), 'FeatureVector, not images'),
                        (('--topic', '/nowhere'), 'no topic /nowhere')):
        assert main(['teach', '--bag', str(tmp_path / 'bag'), *words, '--folder',
                     str(tmp_path / 'teach')]) == 1
        assert told in capsys.readouterr().err
    assert not (tmp_path / 'teach').exists()


def test_a_camera_is_read_by_its_device_file(tmp_path, capfd):
    video = tmp_path / 'device.avi'
    writer = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*'MJPG'), 10, (64, 48))
    for shade in (40, 80, 120):
        writer.write(np.full((48, 64, 3), shade, np.uint8))
    writer.release()
    source = open_source('camera', str(video), 32)
    assert (source.count, source.read(0).shape) == (0, (24, 32, 3))
    source.read(0)
    with pytest.raises(DataSetError, match='gives no picture'):
        source.read(0)
    capfd.readouterr()
    with pytest.raises(DataSetError, match='camera 93 cannot be opened.*Devices found: '):
        open_source('camera', '93', 32)
    assert capfd.readouterr().err == ''  # The library's own warnings are no help.


def test_numbers_in_names_are_numbers(tmp_path):
    names = [tmp_path / name for name in ('a10.png', 'a9.png', 'A8.png')]
    assert [path.name for path in sorted(names, key=natural_key)] == [
        'A8.png', 'a9.png', 'a10.png']


def test_features_of_a_taught_folder_stay(tmp_path):
    first = features_file(tmp_path, None, '/robot/camera/compressed', hand_made=True)
    text = first.read_text()
    assert 'topic: /robot/camera/compressed' in text and 'CompressedImage' in text
    assert features_file(tmp_path, None, '/robot/camera/compressed') == first
    assert first.read_text() == text
    # The topic is where the pictures come from this time, not what was taught.
    features_file(tmp_path, None, '')
    assert first.read_text() == _with_topic(text, '') != text
    assert 'topic: /camera/image_raw' in first.read_text()
    features_file(tmp_path, None, '/other')
    assert 'topic: /other\n      type: sensor_msgs/msg/Image\n' in first.read_text()
    (tmp_path / 'model').mkdir()
    (tmp_path / 'model' / 'journal').mkdir()
    other = tmp_path / 'other.yaml'
    other.write_text('/**: {}\n')
    with pytest.raises(ParameterError, match='taught with other features'):
        features_file(tmp_path, other, '')


def test_hand_made_features_are_not_ignored(tmp_path):
    kept = tmp_path / 'features.yaml'
    kept.write_text(deep := '/**:\n  ros__parameters:\n    sensors: [camera]\n    camera:\n'
                    '      topic: /camera/image_raw\n      extractor: onnx_embedding\n')
    (tmp_path / 'model').mkdir()
    features_file(tmp_path, None, '', hand_made=True)
    assert 'extractor: colour_histogram' in kept.read_text()  # nothing was taught with it
    kept.write_text(deep)
    (tmp_path / 'model' / 'journal').mkdir()
    with pytest.raises(ParameterError, match='other features.*leave --hand-made out'):
        features_file(tmp_path, None, '', hand_made=True)
    assert kept.read_text() == deep


def test_every_source_has_a_folder_of_its_own():
    folders = {str(_default_folder(*one)) for one in (
        ('table', ''), ('camera', '0'), ('camera', '/dev/video0'), ('images', '/data/my cups'),
        ('video', '/data/cups.mp4'), ('bag', '/data/cups'), ('topic', '/robot/image_raw'))}
    assert folders == {'proemlc_teach', 'proemlc_teach_camera_0',
                       'proemlc_teach_camera_dev_video0', 'proemlc_teach_images_my_cups',
                       'proemlc_teach_video_cups',
                       'proemlc_teach_bag_cups', 'proemlc_teach_topic_robot_image_raw'}


def test_taken_port_is_named():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        with pytest.raises(ParameterError, match='is taken.*--port'):
            _check_port(taken.getsockname()[1])


def test_things_stay_on_the_table_and_no_two_pictures_are_the_same():
    table = TeachableTable()
    table.show(['cup'])
    one, two = table.read(0), table.read(1)
    assert not np.array_equal(one, two) and np.abs(one.astype(int) - two).mean() < 15
    table.show([])
    empty = table.read(2)
    reds = [(picture[..., 0].astype(int) - picture[..., 1] > 90).sum() for picture in (one, empty)]
    assert reds[0] > 300 > 30 > reds[1]
    with pytest.raises(DemoError, match='there is no whale here'):
        table.show(['whale'])


def test_domain_of_ones_own(monkeypatch, tmp_path):
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    with own_domain() as first:
        assert os.environ['ROS_DOMAIN_ID'] == str(first)
        monkeypatch.delenv('ROS_DOMAIN_ID')
        # Nor does another folder for temporary files lead to the same domain.
        monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
        with own_domain() as second:
            assert second != first
        monkeypatch.setenv('ROS_DOMAIN_ID', '5')
        with own_domain() as chosen:
            assert chosen == 5


def test_a_domain_with_a_node_in_it_is_left_alone(monkeypatch):
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    with own_domain() as first:
        pass
    with socket.socket(type=socket.SOCK_DGRAM) as second_participant:
        second_participant.bind(('', 7400 + 250 * first + 12))
        with own_domain() as other:
            assert other != first
