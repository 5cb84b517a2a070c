# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc paper`: own files, the quick form, resuming, and mistakes in one line."""

import csv
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proemlc_ros.cli.main import main
from proemlc_ros.experiments.datasets import Source
from proemlc_ros.experiments.experiment import (
    OURS,
    PAPER,
    ExperimentPlan,
    ExperimentRecords,
    Task,
    _ResultsFile,
    run_plan,
)
from proemlc_ros.experiments.summary import METRICS

DATA = Path(os.environ.get('PROEMLC_DATA',
                           Path(__file__).resolve().parents[3] / 'shared')) / 'datasets'


@pytest.fixture
def toy(tmp_path):
    X = np.random.default_rng(0).standard_normal((160, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, X[:, 1] > 0.8, X[:, 2] > 1.0])
    path = tmp_path / 'toy.csv'
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow([*'wxyz', *(f'label:{name}' for name in 'abcd')])
        writer.writerows([*x, *y.astype(int)] for x, y in zip(X, Y, strict=True))
    return path


def test_own_file_by_one_line_and_again_without_work(toy, tmp_path, capsys):
    words = ['paper', str(toy), '--pattern', '2+1+1', '--folds', '2',
             '--methods', 'ours', '--quick', '--out', str(tmp_path / 'out')]
    assert main(words) == 0
    page = (tmp_path / 'out/results.md').read_text()
    assert '| toy | 2+1+1 | **ours, selected settings** |' in page
    assert '| toy | 2+1+1 | **ours, default settings** |' in page and 'SVG' not in page
    assert '<svg' in (tmp_path / 'out/results/toy-stream.svg').read_text()
    records = json.loads((tmp_path / 'out/results.json').read_text())['records']
    assert {record['variant'] for record in records} == {
        'selected settings', 'default settings', 'least errors', 'small', 'paper', 'paper, late',
        'paper, grouped'}
    before = (tmp_path / 'out/runs.jsonl').read_bytes()
    assert main(words) == 0
    assert (tmp_path / 'out/runs.jsonl').read_bytes() == before
    assert main([*words, '--seed', '1', '--finished']) == 1
    assert 'holds no run of this experiment; leave --finished out' in capsys.readouterr().err


@pytest.mark.parametrize('option', ['--baseline-folds', '--rival-folds'])
def test_finished_runs_make_a_page_that_says_what_is_missing(toy, tmp_path, capsys, option):
    pytest.importorskip('sklearn')
    source = Source('toy', toy, ('2+1+1',))
    results = _ResultsFile(tmp_path / 'out/runs.jsonl')
    for task in ExperimentPlan((source,), (OURS, 'PCT', 'ML-kNN'), folds=2, quick=True).tasks():
        if (task.method, task.fold) != ('PCT', 1):
            results.add(task.key, [
                {**dict.fromkeys(METRICS, 0.5), 'data': 'toy', 'method': task.method, 'pattern':
                 '2+1+1' if task.method == OURS else '', 'fold': task.fold, 'variant': variant}
                for variant in (('selected settings',) if task.method == OURS
                                else ('stock', 'same rule'))])
    before = results.path.read_bytes()
    assert main(['paper', str(toy), '--pattern', '2+1+1', '--quick', '--methods',
                 'PCT,ML-kNN', option, '2', '--finished', '--out', str(tmp_path / 'out')]) == 0
    page = (tmp_path / 'out/results.md').read_text()
    assert 'Not everything has run. There is PCT on 1 of 2 folds of toy.' in page
    assert results.path.read_bytes() == before
    capsys.readouterr()


def test_a_failing_run_gives_a_line_a_table_and_an_exit_code(toy, tmp_path, capsys, monkeypatch):

    def run_some(plan, *words):
        done = run_plan(replace(plan, methods=(OURS,)), *words)
        failed = Task(plan, plan.sources[0], PAPER, 1)
        return ExperimentRecords(done.records, {failed: 'MemoryError: too large'})

    monkeypatch.setattr('proemlc_ros.cli.paper.run_plan', run_some)
    assert main(['paper', str(toy), '--pattern', '2+1+1', '--quick', '--methods', 'ours',
                 '--out', str(tmp_path / 'out')]) == 1
    assert (f'proemlc: {PAPER} failed on fold 1 of toy: MemoryError: too large'
            in capsys.readouterr().err)
    page = (tmp_path / 'out/results.md').read_text()
    assert f'| {PAPER} | toy | 1 | MemoryError: too large |' in page
    assert '**ours, selected settings**' in page


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason='no data sets; set PROEMLC_DATA')
def test_quick_form_of_the_paper(tmp_path, capsys):
    pytest.importorskip('sklearn')
    assert main(['paper', '--quick', '--data', str(DATA), '--out', str(tmp_path),
                 '--methods', 'PCT,ML-kNN,ELM']) == 0
    page = (tmp_path / 'results.md').read_text()
    for heading in ('Table I:', 'Table II:', 'Table III:', 'All methods on scene', 'Table IV:'):
        assert heading in page
    # Two data sets, two decision rules.
    assert page.count('| **ours, selected settings** | 2 |') == 4
    assert page.count('| **ours, default settings** | 2 |') == 4
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


def test_a_missing_library_is_named_with_the_extra_that_has_it(monkeypatch, capsys, toy,
                                                               tmp_path):
    for name in list(sys.modules):
        if name.startswith(('proemlc_ros.experiments.baselines.', 'sklearn.')):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sklearn', None)
    assert main(['paper', str(toy), '--quick', '--out', str(tmp_path / 'out')]) == 1
    assert "install it with: pip install 'proemlc_ros[experiments]'" in capsys.readouterr().err
