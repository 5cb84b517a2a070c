# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions of folders, videos and bags, by a model and by its export; pictures out and in."""

import csv
import json
import subprocess
import sys

import cv2
import numpy as np
import pytest

from proemlc_ros.bags.picture_labels import read_picture_labels
from proemlc_ros.bags.pictures import read_picture
from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.cli.main import main
from proemlc_ros.conversions import new_header
from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation import standalone
from proemlc_ros.features.registry import make_extractor
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind, Picture
from proemlc_ros.regions import Region

COLOURS = {'red': (230, 30, 20), 'green': (20, 200, 60), 'blue': (10, 40, 220)}
COUNT = 200


def picture(number):
    """Return a noisy picture of one colour, or of two side by side."""
    names = list(COLOURS)
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:] = COLOURS[names[number % 3]]
    if number % 5 == 0:
        pixels[:, 32:] = COLOURS[names[(number + 1) % 3]]
    noise = np.random.default_rng(number).integers(-20, 20, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def names_of(number):
    names = list(COLOURS)
    return (names[number % 3], names[(number + 1) % 3])[:1 + (number % 5 == 0)]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('pictures')
    for number in range(COUNT):
        cv2.imwrite(str(folder / f'{number}.png'), picture(number)[..., ::-1])
    return folder


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    extractor = make_extractor('colour_moments')
    model = ProEMLC(hidden_size=40, activation='relu')
    for number in range(60):
        model.learn(extractor(picture(1000 + number)), names_of(1000 + number))
    model.extra['extractor'] = extractor.name
    model.save(path := tmp_path_factory.mktemp('model') / 'colours.npz')
    return path


def expected(model, pictures):
    extractor, loaded = make_extractor('colour_moments'), ProEMLC.load(model)
    return [list(loaded.classify(extractor(pixels)).labels) for pixels in pictures]


def predicted(capsys, *words):
    assert main(['predict', *map(str, words), '--format', 'jsonl']) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_folder_a_video_and_a_bag(model, folder, tmp_path, capsys):
    pictures = [picture(number) for number in range(COUNT)]
    found = predicted(capsys, model, folder)
    assert [one['name'] for one in found] == [f'{number}.png' for number in range(COUNT)]
    assert [one['labels'] for one in found] == expected(model, pictures)
    assert sum(sorted(one['labels']) == sorted(names_of(number))
               for number, one in enumerate(found)) > 0.9 * COUNT
    video = cv2.VideoWriter(str(tmp_path / 'film.avi'), cv2.VideoWriter_fourcc(*'MJPG'), 10,
                            (64, 48))
    kind = 'sensor_msgs/msg/Image'
    with BagWriter(tmp_path / 'bag') as bag:
        for number in range(30):
            video.write(np.ascontiguousarray(pictures[number][..., ::-1]))
            stamp = (1 + number) * 10**8
            bag._write('/camera', kind, stamp, bag.messages.new(
                kind, header=new_header(bag.messages, stamp), height=48, width=64,
                encoding='rgb8', is_bigendian=0, step=192, data=pictures[number].ravel()))
    video.release()
    assert [one['labels'] for one in predicted(capsys, model, tmp_path / 'bag')] == expected(
        model, pictures[:30])
    assert len(predicted(capsys, model, tmp_path / 'film.avi')) == 30
    assert len(predicted(capsys, model, tmp_path / 'bag', '--every', 4, '--count', 5)) == 5


def test_every_form_of_output(model, folder, tmp_path, capsys):
    for name in ('found.csv', 'found.html', 'found.txt', 'found.jsonl'):
        assert main(['predict', str(model), str(folder), '--count', '9', '--output',
                     str(tmp_path / name)]) == 0
    with (tmp_path / 'found.csv').open() as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / 'found.jsonl').read_text().splitlines()]
    assert [row['labels'].split(';') for row in rows] == [one['labels'] for one in lines]
    page = (tmp_path / 'found.html').read_text()
    assert page.count('data:image/jpeg') == 9 and '9 pictures' in page
    assert 'red' in (tmp_path / 'found.txt').read_text()


def test_features_of_another_extractor_are_named(tmp_path, folder, capsys):
    model = ProEMLC()
    model.learn([[1.0, 2.0]], [['cup']])
    model.extra['extractor'] = 'onnx_embedding/1(model=0123456789ab)'
    model.save(tmp_path / 'model.npz')
    assert main(['predict', str(tmp_path / 'model.npz'), str(folder)]) == 1
    assert 'taught with onnx_embedding/1(model=0123456789ab)' in capsys.readouterr().err


def test_what_is_novel_has_no_label(model, folder, capsys):
    found = predicted(capsys, model, folder, '--unknown-above', -1, '--count', 3)
    assert [one['unknown'] for one in found] == [True] * 3
    assert all(not one['labels'] for one in found)


@pytest.fixture
def taught(tmp_path):
    """Return the folder of a journal with pictures, corrected since."""
    extractor = make_extractor('colour_moments')
    journal = Journal(tmp_path / 'taught' / 'model' / 'journal')
    numbers = []
    for number in range(24):
        pixels = picture(number)
        data = cv2.imencode('.png', pixels[..., ::-1])[1].tobytes()
        region = Region('', 30, 20, 10, 12) if number % 2 else Region()
        entry, = journal.append([Annotation(
            number + 1, names_of(number), features=extractor(pixels), extractor=extractor.name,
            region=region)])
        numbers.append(entry)
        journal.append_late_picture(entry, Picture(number + 1, 'png', data))
    journal.append([Event(EventKind.DELETE, sample=numbers[3])])
    journal.append([Event(EventKind.RENAME, label='red', new_label='rot')])
    journal.append([Annotation(99, (), features=extractor(picture(7)), extractor=extractor.name)])
    journal.close()
    return tmp_path / 'taught'


@pytest.mark.parametrize('layout', ['coco', 'yolo', 'folder'])
def test_pictures_out_and_in_again(taught, layout, tmp_path, capsys):
    assert main(['export', str(taught), '--pictures', layout, '--output',
                 str(tmp_path / 'out')]) == 0
    assert 'note: 1 sample without a kept picture' in capsys.readouterr().out
    found = read_picture_labels(tmp_path / 'out').pictures
    wanted = [tuple('rot' if name == 'red' else name for name in names_of(number))
              for number in range(24) if number != 3]
    in_order = sorted(found, key=lambda one: one.path.name)
    assert [one.labels for one in in_order] == wanted
    for one, number in zip(in_order, [n for n in range(24) if n != 3], strict=True):
        np.testing.assert_array_equal(read_picture(one.path), picture(number))
    assert main(['train', str(tmp_path / 'out'), '-o', str(tmp_path / 'again.npz'), '--extract',
                 'colour_moments']) == 0
    assert '23 samples' in capsys.readouterr().out
    assert main(['export', str(taught), '--pictures', layout, '--output',
                 str(tmp_path / 'out')]) == 1
    assert 'exists already' in capsys.readouterr().err


def test_the_model_of_a_folder_is_that_of_its_journal(taught, folder, capsys):
    found = predicted(capsys, taught, folder, '--count', 20)
    names = set(found[0]['probabilities'])
    assert names == {'rot', 'green', 'blue'}


def exported(tmp_path, model, *words):
    pytest.importorskip('onnx')
    pytest.importorskip('onnxruntime')
    assert main(['export', str(model), '--output', str(tmp_path / 'out.onnx'), *words]) == 0
    return tmp_path / 'predict.py'


def alone(tmp_path, script, *inputs):
    """Run the written script where neither this package nor OpenCV can be imported."""
    (tmp_path / 'cv2.py').write_text('raise ImportError\n')
    done = subprocess.run([sys.executable, '-s', script, tmp_path / 'out.onnx', *inputs],
                          capture_output=True, text=True, cwd=tmp_path,
                          env={'PYTHONPATH': str(tmp_path), 'PATH': ''})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize('threshold', ['expected_f1', 'probable', 'learnt', 'zero'])
def test_the_script_beside_an_export_predicts_vectors_alike(model, tmp_path, threshold):
    extractor = make_extractor('colour_moments')
    rows = np.array([extractor(picture(number)) for number in range(COUNT)])
    taught = ProEMLC(hidden_size=40, activation='relu', threshold=threshold)
    for number in range(60):
        taught.learn(extractor(picture(1000 + number)), names_of(1000 + number))
    taught.save(tmp_path / 'model.npz')
    script = exported(tmp_path, tmp_path / 'model.npz')
    np.save(tmp_path / 'rows.npy', rows)
    found = alone(tmp_path, script, tmp_path / 'rows.npy')
    assert [set(one['labels']) for one in found] == [
        set(taught.classify(row).labels) for row in rows]


@pytest.mark.parametrize('parameters', [
    {}, {'colours': 0.2}, {'colours': 0.2, 'margin': 0.5, 'looks': [1.0, 0.75, 0.55]}])
def test_the_script_predicts_pictures_alike(folder, tmp_path, parameters):
    from test_onnx_export import network
    network(tmp_path / 'network.onnx')
    extractor = make_extractor(
        'onnx_embedding', {'model': str(tmp_path / 'network.onnx'), **parameters})
    taught = ProEMLC(hidden_size=40)
    for number in range(60):
        taught.learn(extractor(picture(1000 + number)), names_of(1000 + number))
    taught.extra['extractor'] = extractor.name
    taught.save(tmp_path / 'model.npz')
    script = exported(tmp_path, tmp_path / 'model.npz', '--backbone',
                      str(tmp_path / 'network.onnx'))
    found = {one['name'].rpartition('/')[2]: one for one in alone(tmp_path, script, folder)}
    for number in range(COUNT):
        wanted = taught.classify(extractor(picture(number)))
        one = found[f'{number}.png']
        np.testing.assert_allclose(list(one['probabilities'].values()), wanted.probabilities,
                                   atol=0.02)
        assert set(one['labels']) == set(wanted.labels)


@pytest.mark.parametrize('alpha', [False, True])
def test_png_files_are_read_without_a_library(tmp_path, alpha):
    pixels = picture(5)
    written = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGRA if alpha else cv2.COLOR_RGB2BGR)
    for strategy in range(4):
        cv2.imwrite(str(tmp_path / 'one.png'), written, [
            cv2.IMWRITE_PNG_STRATEGY, strategy, cv2.IMWRITE_PNG_COMPRESSION, 3 + strategy])
        np.testing.assert_array_equal(standalone._read_pixels(tmp_path / 'one.png'), pixels)
    (tmp_path / 'one.ppm').write_bytes(b'P6\n# made by hand\n64 48\n255\n' + pixels.tobytes())
    np.testing.assert_array_equal(standalone._read_pixels(tmp_path / 'one.ppm'), pixels)


def test_the_report_begins_with_the_verdict_and_shows_the_worst_mistakes(taught, tmp_path, capsys):
    report = tmp_path / 'report.html'
    assert main(['evaluate', str(taught), '--html', str(report)]) == 0
    assert 'WARNING' not in capsys.readouterr().out
    page = report.read_text()
    parts = ['class="verdict"', 'Worst mistakes', 'Confusion between labels', '<h2>Labels',
             '<h2>Metrics', 'Hamming loss over the stream']
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert 'of 24 annotations' in page and 'each predicted before it was learnt' in page
    assert 'data:image/png' in page and 'instead of' in page
    assert 'class="warning"' not in page


def test_a_test_on_the_training_set_is_said_in_red(taught, folder, tmp_path, capsys):
    report = tmp_path / 'report.html'
    assert main(['evaluate', str(taught), '--train', str(taught), '--html', str(report)]) == 0
    assert 'WARNING: Tested on what it was trained with: the model had learnt 24 of the 24' in (
        capsys.readouterr().out)
    assert 'class="warning"' in report.read_text()
    assert main(['train', str(taught), '-o', str(taught / 'model' / 'mine.npz')]) == 0
    assert main(['evaluate', str(taught), '--model', str(taught / 'model' / 'mine.npz'),
                 '--frozen']) == 0
    assert 'Tested on what it was trained with' in capsys.readouterr().out
    # Without the journal beside it a model knows its samples again by itself.
    (taught / 'model' / 'mine.npz').rename(tmp_path / 'alone.npz')
    model = ['--model', str(tmp_path / 'alone.npz')]
    for learning in ([], ['--frozen']):
        assert main(['evaluate', str(taught), *model, *learning]) == 0
        assert 'the model had learnt 24 of the 24' in capsys.readouterr().out
