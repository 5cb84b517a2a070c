# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's protocol: folds, streams, results that survive a crash, and a quick run."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.cli.main import main
from proemlc_ros.core.selection import select_model
from proemlc_ros.errors import DataSetError, MissingDependencyError, ParameterError
from proemlc_ros.experiments import fetching
from proemlc_ros.experiments.datasets import DataSet
from proemlc_ros.experiments.experiment import OURS, ExperimentPlan
from proemlc_ros.experiments.our_runs import run_ours
from proemlc_ros.experiments.protocol import (
    common_refinement,
    group_starts,
    make_folds,
    mixed_order,
)
from proemlc_ros.experiments.results_file import ResultsFile
from proemlc_ros.experiments.sources import Source
from proemlc_ros.experiments.stream_run import Stream
from proemlc_ros.experiments.summary import MEASURES, summarise

DATA = Path(os.environ.get('PROEMLC_DATA',
                           Path(__file__).resolve().parents[4] / 'shared')) / 'datasets'


def make_data(samples=160, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((samples, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, X[:, 1] > 0.8, X[:, 2] > 1.0])
    return DataSet('toy', X, Y, ['a', 'b', 'c', 'd'], list('wxyz'))


def write_csv(path, data):
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow([*data.feature_names, *(f'label:{name}' for name in data.label_names)])
        writer.writerows([*x, *y.astype(int)] for x, y in zip(data.X, data.Y, strict=True))


def test_common_refinement_has_every_border():
    assert common_refinement(['44+1', '39+2+2+1+1', '38+3+4'], 45) == [38, 1, 2, 2, 1, 1]


def test_folds_cover_everything_once_and_streams_introduce_labels_in_turn():
    data = make_data()
    folds = make_folds(data.Y, ['3+1', '2+1+1'], 5)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(len(data)))
    for fold in folds:
        assert sorted(np.concatenate([fold.train, fold.test])) == list(range(len(data)))
        stream = data.Y[fold.train]
        assert not stream[:fold.first, 2:].any()
        starts = group_starts(stream, [2, 1, 1])
        assert starts[0] == fold.first
        assert not stream[:starts[1], 3].any() and stream[starts[1], 3]


def test_mixed_order_keeps_earlier_labels_in_the_stream():
    data = make_data(400)
    for start, low in ((None, 1 / 3), (0.75, 0.75)):
        stream = data.Y[mixed_order(data.Y, [2, 1, 1], 1, start)]
        first, second = group_starts(stream, [2, 1, 1])
        # Samples of the first group thin out towards the end, so that the place is a little less.
        assert 0.7 * low < first / 400 < second / 400
        later = stream[second:]
        assert (later.any(axis=1) & ~later[:, 2:].any(axis=1)).mean() > 0.2


def test_too_many_folds_are_named():
    with pytest.raises(ParameterError, match='cannot make 200 folds'):
        make_folds(make_data().Y, ['2+1+1'], 200)


def test_all_patterns_and_chunks_end_in_the_same_model():
    data = make_data()
    patterns = ('4', '3+1', '2+1+1')
    fold = make_folds(data.Y, patterns, 4)[0]
    settings = select_model(data.X[fold.train], data.Y[fold.train], sizes=[10, 30],
                            first=fold.first).keywords()
    runs = [Stream(data, fold, pattern, chunk).run(settings, layer_samples=fold.first)
            for pattern in patterns for chunk in (1, 7)]
    for run in runs[1:]:
        np.testing.assert_allclose(run.scores, runs[0].scores, atol=1e-8)
        np.testing.assert_array_equal(run.predicted, runs[0].predicted)


def test_records_hold_the_curve_and_the_introductions():
    data = make_data()
    fold = make_folds(data.Y, ('2+1+1',), 4)[0]
    record, few, small = run_ours(data, fold, ('2+1+1',), 1, True, '2+1+1')
    assert few['variant'] == 'least errors' and small['variant'] == 'small'
    assert small['model_bytes'] <= record['model_bytes']
    assert len(record['starts']) == 2 and record['pattern_spread'] < 1e-9
    samples, overall, late = zip(*record['curve'])
    assert samples[-1] == len(fold.train)
    assert overall[-1] == pytest.approx(record['hamming_loss'])
    assert late[-1] < late[0]


def test_an_interrupted_experiment_has_all_rivals_on_the_same_folds():
    source = Source('toy', Path('toy.csv'), ('2+1+1',))
    plan = ExperimentPlan((source,), (OURS, 'CC', 'PCT'), folds=3, rival_folds=2)
    assert [(task.method, task.fold) for task in plan.tasks()] == [
        (OURS, 0), (OURS, 1), (OURS, 2), ('CC', 0), ('PCT', 0), ('CC', 1), ('PCT', 1)]


def test_finished_runs_make_a_page_that_says_what_is_missing(tmp_path, capsys):
    pytest.importorskip('sklearn')
    write_csv(tmp_path / 'toy.csv', make_data())
    source = Source('toy', tmp_path / 'toy.csv', ('2+1+1',))
    results = ResultsFile(tmp_path / 'out/runs.jsonl')
    for task in ExperimentPlan((source,), (OURS, 'PCT', 'ML-kNN'), folds=2, quick=True).tasks():
        if (task.method, task.fold) != ('PCT', 1):
            results.add(task.key, [
                {**dict.fromkeys(MEASURES, 0.5), 'data': 'toy', 'method': task.method, 'pattern':
                 '2+1+1' if task.method == OURS else '', 'fold': task.fold, 'variant': variant}
                for variant in (('default',) if task.method == OURS else ('stock', 'same rule'))])
    before = results.path.read_bytes()
    assert main(['paper', str(tmp_path / 'toy.csv'), '--pattern', '2+1+1', '--quick', '--methods',
                 'PCT,ML-kNN', '--finished', '--out', str(tmp_path / 'out')]) == 0
    page = (tmp_path / 'out/results.md').read_text()
    assert 'Not everything has run. There is PCT on 1 of 2 folds of toy.' in page
    assert results.path.read_bytes() == before
    capsys.readouterr()


def test_results_survive_a_cut_line(tmp_path):
    path = tmp_path / 'runs.jsonl'
    results = ResultsFile(path)
    results.add('one', [{'value': 1}])
    results.add('two', [{'value': 2}])
    path.write_bytes(path.read_bytes()[:-5])
    again = ResultsFile(path)
    assert 'one' in again and 'two' not in again
    again.add('two', [{'value': 3}])
    assert ResultsFile(path)['two'] == [{'value': 3}]


def test_summaries_are_means_over_folds():
    base = dict.fromkeys(('f1_example', 'accuracy', 'precision', 'recall', 'f1_paper',
                          'subset_accuracy', 'f1_micro', 'f1_macro', 'one_error', 'coverage',
                          'ranking_loss', 'average_precision', 'training_seconds', 'test_seconds',
                          'choice_seconds', 'memory_bytes'), 1.0)
    records = [{**base, 'data': 'toy', 'method': 'x', 'variant': 'stock', 'pattern': '',
                'fold': fold, 'hamming_loss': value} for fold, value in enumerate((0.1, 0.3))]
    summary, = summarise(records)
    assert summary.folds == 2
    assert summary.text('hamming_loss') == '0.200 ± 0.100'


def test_own_file_by_one_line_and_again_without_work(tmp_path, capsys):
    data = make_data()
    write_csv(tmp_path / 'toy.csv', data)
    words = ['paper', str(tmp_path / 'toy.csv'), '--pattern', '2+1+1', '--folds', '2',
             '--methods', 'ours', '--quick', '--out', str(tmp_path / 'out')]
    assert main(words) == 0
    page = (tmp_path / 'out/results.md').read_text()
    assert '| toy | 2+1+1 | **our defaults** |' in page and 'SVG' not in page
    assert (tmp_path / 'out/results/toy-stream.svg').read_text().startswith('<svg')
    records = json.loads((tmp_path / 'out/results.json').read_text())['records']
    assert {record['variant'] for record in records} == {
        'default', 'least errors', 'small', 'paper', 'paper, late', 'paper, grouped'}
    before = (tmp_path / 'out/runs.jsonl').read_bytes()
    assert main(words) == 0
    assert (tmp_path / 'out/runs.jsonl').read_bytes() == before
    assert main([*words, '--seed', '1', '--finished']) == 1
    assert 'holds no run of this experiment' in capsys.readouterr().err
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason='no data sets; set PROEMLC_DATA')
def test_quick_form_of_the_paper(tmp_path, capsys):
    pytest.importorskip('sklearn')
    assert main(['paper', '--quick', '--data', str(DATA), '--out', str(tmp_path)]) == 0
    page = (tmp_path / 'results.md').read_text()
    for heading in ('Table I:', 'Table II:', 'Table III:', 'All methods on scene', 'Table IV:'):
        assert heading in page
    assert page.count('**Pro-EMLC** |') == 4  # two data sets, two decision rules
    rows = list(csv.DictReader((tmp_path / 'folds.csv').open()))
    assert {row['method'] for row in rows} >= {'Pro-EMLC', 'PCT', 'ML-kNN', 'ELM'}
    capsys.readouterr()


@pytest.mark.parametrize(('words', 'message'), [
    (['--sets', 'yeast'], 'not one of the data sets'),
    (['--methods', 'magic'], "no method 'magic'"),
    (['--data', '/nowhere', '--methods', 'ours'], '/nowhere'),
    (['nothing.csv'], 'nothing.csv'),
])
def test_mistakes_get_one_line(words, message, capsys, tmp_path):
    assert main(['paper', *words, '--out', str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert message in said and 'Traceback' not in said and said.count('\n') <= 2


class Frame:
    """As much of a data frame as fetching needs."""

    def __init__(self, rows, columns):
        self.columns = [f'c{number}' for number in range(columns)]
        self.shape = (rows, columns)

    def itertuples(self, index):
        return iter([tuple(['0.5'] * 294 + ['TRUE', '0', '1', 'FALSE', '0', '0'])
                     for _ in range(self.shape[0])])


def test_fetched_tables_become_data_sets(tmp_path):
    from proemlc_ros.experiments.datasets import find_dataset
    fetching.write_table(Frame(2407, 300), 'scene', tmp_path / 'scene.csv')
    data = find_dataset(tmp_path, 'scene')
    assert data.X.shape == (2407, 294) and data.Y[0].tolist() == [True, False, True] + [False] * 3


def test_fetching_says_what_went_wrong(tmp_path, monkeypatch):
    with pytest.raises(DataSetError, match='Mulan'):
        fetching.write_table(Frame(10, 300), 'scene', tmp_path / 'scene.csv')
    datasets = pytest.importorskip('sklearn.datasets')

    def refuse(**_):
        raise OSError('no network')

    monkeypatch.setattr(datasets, 'fetch_openml', refuse)
    with pytest.raises(DataSetError, match='cannot be fetched from OpenML .no network.; get its'):
        fetching.fetch_missing(tmp_path, ['scene'], lambda text: None)


def test_rivals_say_that_they_need_scikit_learn(monkeypatch):
    import sys

    from proemlc_ros.experiments.baselines import rival_class
    for name in list(sys.modules):
        if name.startswith(('proemlc_ros.experiments.baselines.', 'sklearn.')):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sklearn', None)
    with pytest.raises(MissingDependencyError, match='pip install scikit-learn'):
        rival_class('CC')
