# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc bag` and `proemlc info` as commands, also on bags of other people."""

import json

import pytest
from rosbags.highlevel import AnyReader

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.core import ProEMLC
from proemlc_ros.records import Annotation


def labels_over_time(path):
    with BagReader(path) as bag:
        return [item.labels for _, item in find_sources(bag).stream(bag)
                if isinstance(item, Annotation)]


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_data_set_with_an_introduction_pattern(proemlc, shared, tmp_path, storage):
    code, out, _ = proemlc('bag', 'make', shared / 'datasets', '--name', 'scene', '--pattern',
                           '4+1+1', '-o', tmp_path / 'scene', '--storage', storage)
    assert code == 0 and '2407 samples' in out
    assert ': bag, 2 topics' in proemlc('info', tmp_path / 'scene')[1]
    shown = labels_over_time(tmp_path / 'scene')
    first = {}
    for number, labels in enumerate(shown):
        for label in labels:
            first.setdefault(label, number)
    assert len(shown) == 2407
    early = ('Beach', 'Sunset', 'FallFoliage', 'Field')
    assert max(first[name] for name in early) < 100
    assert 300 < first['Mountain'] < first['Urban']
    with AnyReader([tmp_path / 'scene']) as reader:
        assert reader.message_count == 4814


def test_a_csv_file_of_ones_own(proemlc, tmp_path):
    (tmp_path / 'mine.csv').write_text('a,b,labels\n1,2,cup\n3,4,cup;red\n5,6,\n')
    code, _, _ = proemlc('bag', 'make', tmp_path / 'mine.csv', '-o', tmp_path / 'mine')
    assert code == 0
    assert sorted(labels_over_time(tmp_path / 'mine')) == [(), ('cup',), ('cup', 'red')]


@pytest.mark.parametrize(('words', 'text'), [
    (['--pattern', '4+3'], 'introduces 7 labels'),
    (['--pattern', 'four'], 'not a label introduction pattern'),
])
def test_make_mistakes(proemlc, tmp_path, words, text):
    (tmp_path / 'mine.csv').write_text('a,labels\n1,cup\n')
    code, _, err = proemlc('bag', 'make', tmp_path / 'mine.csv', '-o', tmp_path / 'out', *words)
    assert code == 1 and text in err and len(err.splitlines()) == 1
    assert not (tmp_path / 'out').exists()


def test_an_impossible_rate_is_rejected(proemlc, tmp_path, capsys):
    with pytest.raises(SystemExit, match='2'):
        proemlc('bag', 'make', tmp_path / 'mine.csv', '-o', tmp_path / 'out', '--rate', '0')
    assert '--rate: 0 is not above 0' in capsys.readouterr().err


# Topic, extractor and further options for each bag.
BAGS = {
    'lidar_nanaaaiya_p1': ('/scan', 'laser_profile', ()),
    'webots_walker': ('/scan', 'laser_profile', ()),
    'klintan_sample': ('/image', 'colour_moments', ('--best-effort',)),
}


@pytest.mark.slow
@pytest.mark.parametrize('name', BAGS)
def test_bags_of_other_people_from_info_to_evaluation(proemlc, shared, tmp_path, name):
    path = shared / 'bags' / name
    topic, extractor, options = BAGS[name]
    code, out, _ = proemlc('info', path)
    assert code == 0 and topic in out
    with BagReader(path, best_effort=True) as bag:
        length = (bag.end - bag.start) / 1e9
    (tmp_path / 'labels.csv').write_text(
        f'start,end,labels\n0,{0.6 * length},room\n{length / 4},{length},door;wall\n')
    code, out, err = proemlc('bag', 'annotate', path, tmp_path / 'labels.csv', '--topic', topic,
                             '-o', tmp_path / 'annotated', *options)
    assert (code, err) == (0, '')
    code, out, err = proemlc('evaluate', tmp_path / 'annotated', '--extract',
                             f'{topic}={extractor}', '--hidden-size', '30',
                             '--json', tmp_path / 'out.json')
    assert (code, err) == (0, '')
    (run,) = json.loads((tmp_path / 'out.json').read_text())['runs']
    expected = {'lidar_nanaaaiya_p1': 277, 'webots_walker': 3120, 'klintan_sample': 1}[name]
    assert run['vectors'] == run['samples'] == expected
    assert run['rejects'] == {}
    code, out, _ = proemlc('info', tmp_path / 'annotated')
    assert code == 0 and 'door' in out


def test_labels_that_are_nearly_the_same_are_hinted_at(proemlc, bag, tmp_path):
    table = tmp_path / 'labels.csv'
    table.write_text('time,labels\n0.1,banana\n1,Banana;pear\n2,shelf 1\n3,shelf 2\n')
    code, out, _ = proemlc('bag', 'annotate', bag, table, '-o', tmp_path / 'annotated')
    hint = "note: 'Banana' is nearly the same as 'banana': one label, or two?"
    assert code == 0 and [line for line in out.splitlines() if 'note' in line] == [hint]
    table.write_text('x,labels\n' + ''.join(f'{number},{name}\n' for number, name in enumerate(
        ['banana', 'Banana', 'pear', 'banana'])))
    for words in (['bag', 'make', table, '-o', tmp_path / 'made'],
                  ['train', table, '-o', tmp_path / 'model.npz']):
        code, out, _ = proemlc(*words)
        assert code == 0 and out.splitlines().count(hint) == 1, out
    code, _, err = proemlc('bag', 'make', table, '--labels', 'X', '-o', tmp_path / 'other')
    assert code == 1 and "did you mean 'x'?" in err


def test_klintan_needs_the_best_effort(proemlc, shared, tmp_path):
    (tmp_path / 'labels.csv').write_text('time,labels\n0,room\n')
    code, _, err = proemlc('bag', 'annotate', shared / 'bags' / 'klintan_sample',
                           tmp_path / 'labels.csv', '-o', tmp_path / 'out')
    assert code == 1 and 'metadata.yaml is missing' in err
    code, _, err = proemlc('bag', 'annotate', shared / 'bags' / 'klintan_sample',
                           tmp_path / 'labels.csv', '-o', tmp_path / 'out', '--best-effort')
    assert code == 1 and '/image' in err and '--topic' in err


def test_info_shows_the_history_of_labels(proemlc, bag):
    code, out, _ = proemlc('info', bag)
    assert code == 0
    assert '300 annotations' in out and '3 labels' in out
    robot = next(line for line in out.splitlines() if line.startswith('robot'))
    picture = robot.partition('|')[2].rstrip('|')
    assert len(picture) == 60
    assert picture[:29].strip() == '' and picture[32:].strip() != ''


def test_info_of_a_damaged_bag(proemlc, bag):
    (bag / 'metadata.yaml').unlink()
    assert 'note: metadata.yaml is missing' in proemlc('bag', 'info', bag)[1]
    assert proemlc('info', bag, '--strict')[0] == 1


def test_info_of_a_model(proemlc, samples, tmp_path):
    model = ProEMLC(hidden_size=20, activation='relu', scaling='none')
    model.save(tmp_path / 'empty.npz')
    model.learn([v for v, _ in samples], [labels for _, labels in samples])
    model.save(tmp_path / 'model.npz', extra={'extractor': 'laser_profile/1'})
    code, out, _ = proemlc('info', tmp_path / 'empty.npz', tmp_path / 'model.npz')
    assert code == 0
    assert 'no labels yet' in out
    assert '300 samples learnt of 6 values' in out and 'laser_profile/1' in out
    cup = next(line for line in out.splitlines() if line.startswith('cup'))
    assert str(sum('cup' in labels for _, labels in samples)) in cup and '█' in cup


@pytest.mark.parametrize('name', ['none.npz', 'none', 'bad.npz'])
def test_info_of_what_is_not_there(proemlc, tmp_path, name):
    (tmp_path / 'bad.npz').write_bytes(b'PK\x03\x04')
    code, _, err = proemlc('info', tmp_path / name)
    assert code == 1 and name in err and len(err.splitlines()) == 1
