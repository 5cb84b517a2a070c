# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc evaluate` from the outside."""

import csv
import json
import re

import pytest

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.classifier.profiles import PROFILES
from proemlc_ros.core import ProEMLC

SMALL = ('--hidden-size', '40', '--activation', 'relu', '--scaling', 'none')


def test_table_files_and_report_agree(proemlc, bag, tmp_path):
    files = {kind: tmp_path / f'out.{kind}' for kind in ('json', 'csv', 'html')}
    code, out, err = proemlc('evaluate', bag, *SMALL, '--json', files['json'], '--csv',
                             files['csv'], '--html', files['html'],
                             '--predictions', tmp_path / 'p.csv')
    assert (code, err) == (0, '')
    content = json.loads(files['json'].read_text())
    assert content['bags'] == [str(bag)]
    (run,) = content['runs']
    assert run['samples'] == run['vectors'] == 300 and run['learning']
    hamming = run['metrics']['hamming']
    assert 'Hamming loss' in out and f'{hamming:.4f}' in out
    assert 0 < hamming < 0.3
    assert run['curve'][-1][2] == pytest.approx(hamming)
    rows = list(csv.DictReader(files['csv'].open()))
    assert float(rows[0]['all_hamming']) == hamming
    assert [row['label'] for row in rows[1:]] == [label['name'] for label in run['labels']]
    assert sum(int(row['support']) for row in rows[1:]) == sum(
        label['support'] for label in run['labels'])
    page = files['html'].read_text()
    assert f'{hamming:.4f}' in page and '<svg' in page and 'Confusion between labels' in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    predictions = list(csv.DictReader((tmp_path / 'p.csv').open()))
    assert len(predictions) == 300
    assert predictions[0]['labels'] == '' and json.loads(predictions[-1]['scores']).keys() == {
        'cup', 'red', 'robot'}


def test_first_appearance_is_in_seconds_of_the_bag(proemlc, bag, samples, tmp_path):
    proemlc('evaluate', bag, *SMALL, '--json', tmp_path / 'out.json')
    (run,) = json.loads((tmp_path / 'out.json').read_text())['runs']
    robot = next(label for label in run['labels'] if label['name'] == 'robot')
    first = next(n for n, (_, labels) in enumerate(samples) if 'robot' in labels)
    assert robot['first_sample'] == first + 1
    assert robot['first_seen'] == pytest.approx(first * 0.1 + 0.05)


def test_several_runs_side_by_side(proemlc, bag, samples, tmp_path):
    model = ProEMLC(hidden_size=20, activation='relu', scaling='none')
    model.learn([v for v, _ in samples], [labels for _, labels in samples])
    model.save(tmp_path / 'saved.npz')
    code, out, _ = proemlc('evaluate', bag, *SMALL, '--compare', 'hidden_size=5',
                           tmp_path / 'saved.npz', '--json', tmp_path / 'out.json')
    assert code == 0
    runs = json.loads((tmp_path / 'out.json').read_text())['runs']
    assert [run['settings']['hidden_size'] for run in runs] == [40, 5, 20]
    assert [run['name'] for run in runs][1:] == ['hidden_size=5', 'saved.npz']
    header = out.splitlines()[0]
    assert 'hidden_size=5' in header and 'saved.npz' in header
    # It has seen everything before, so it is better from the start.
    assert runs[2]['metrics']['hamming'] < runs[0]['metrics']['hamming']


def test_a_frozen_model_does_not_learn(proemlc, bag, samples, tmp_path):
    model = ProEMLC(hidden_size=20, activation='relu', scaling='none')
    model.learn([v for v, _ in samples[:100]], [labels for _, labels in samples[:100]])
    model.save(tmp_path / 'saved.npz')
    before = (tmp_path / 'saved.npz').read_bytes()
    proemlc('evaluate', bag, '--model', tmp_path / 'saved.npz', '--frozen',
            '--json', tmp_path / 'out.json')
    (run,) = json.loads((tmp_path / 'out.json').read_text())['runs']
    assert not run['learning']
    expected = model.predict([v for v, _ in samples])
    exact = sum(set(p) == set(labels) for p, (_, labels) in zip(expected, samples, strict=True))
    assert run['metrics']['subset_accuracy'] == pytest.approx(exact / 300)
    assert (tmp_path / 'saved.npz').read_bytes() == before


@pytest.mark.parametrize(('option', 'code'), [
    ('--fail-above=hamming=0.9', 0), ('--fail-above=hamming=0.0001', 3),
    ('--fail-below=f1=0.1', 0), ('--fail-below=f1=0.9999', 3)])
def test_the_exit_code_serves_a_ci(proemlc, bag, option, code):
    found, out, _ = proemlc('evaluate', bag, *SMALL, option)
    assert found == code
    assert ('FAILED' in out) == (code == 3)


@pytest.mark.parametrize(('words', 'text'), [
    (['--fail-above', 'beauty=1'], "unknown metric 'beauty'; choose from hamming, "),
    (['--fail-above', 'hamming=low'], 'METRIC=VALUE'),
    (['--set', 'size=3'], "'size=3' is not a setting"),
    (['--hidden-size', '0'], 'hidden_size'),
    (['--model', 'none.npz'], 'none.npz'),
    (['--features', '/none'], 'no topic /none'),
    (['--features', '/proemlc/annotations'], 'not feature vectors'),
    (['--annotations', '/proemlc/features'], 'not annotations'),
    (['--extract', 'scan'], 'TOPIC=EXTRACTOR'),
    (['--compare', 'gone.npz'], 'gone.npz'),
    (['--html', '/nonexistent/folder/x.html'], '/nonexistent/folder'),
])
def test_errors_are_one_line(proemlc, bag, words, text):
    code, _, err = proemlc('evaluate', bag, *words)
    assert code == 1
    assert text in err and len(err.splitlines()) == 1


def test_nothing_to_compare_with(proemlc, shared, tmp_path):
    lidar = shared / 'bags' / 'lidar_nanaaaiya_p1'
    code, _, err = proemlc('evaluate', lidar)
    assert code == 1 and 'proemlc bag annotate' in err
    code, _, _ = proemlc('evaluate', lidar, '--predictions', tmp_path / 'p.csv')
    assert code == 0
    assert len((tmp_path / 'p.csv').read_text().splitlines()) == 278


def test_defects_of_a_bag_are_noted(proemlc, bag):
    (bag / 'metadata.yaml').unlink()
    code, _, err = proemlc('evaluate', bag, *SMALL)
    assert code == 1 and '--best-effort' in err
    code, out, _ = proemlc('evaluate', bag, *SMALL, '--best-effort')
    assert code == 0 and 'note: bag: metadata.yaml is missing' in out


def test_features_as_the_feature_node_makes_them(proemlc, shared, tmp_path):
    (tmp_path / 'features.yaml').write_text(
        'features:\n  ros__parameters:\n    sensors: [front]\n    front:\n'
        '      topic: /scan\n      extractor: laser_profile\n')
    lidar = shared / 'bags' / 'lidar_nanaaaiya_p1'
    code, out, err = proemlc('evaluate', lidar, '--sensors', tmp_path / 'features.yaml',
                             '--predictions', tmp_path / 'p.csv')
    assert (code, err) == (0, '')
    assert len((tmp_path / 'p.csv').read_text().splitlines()) == 278
    code, _, err = proemlc('evaluate', lidar, '--sensors', tmp_path / 'none.yaml',
                           '--predictions', tmp_path / 'p.csv')
    assert code == 1 and 'none.yaml' in err


def test_settings_follow_the_features_unless_given(proemlc, samples, tmp_path):
    make_bag(tmp_path / 'deep', samples, extractor='onnx_embedding/1(model=0123)')
    fitting = {'seed': 5, **PROFILES['onnx_embedding']}
    expected = ProEMLC(**fitting)
    for words in ((), ('--train', tmp_path / 'deep')):
        code, _, err = proemlc('evaluate', tmp_path / 'deep', '--seed', '5', *words, '--compare',
                               'activation=relu', '--json', tmp_path / 'out.json')
        assert (code, err) == (0, '')
        deep, relu = (run['settings'] for run in
                      json.loads((tmp_path / 'out.json').read_text())['runs'])
        assert deep == expected.options.as_dict()
        assert relu == ProEMLC(activation='relu', seed=5).options.as_dict()
