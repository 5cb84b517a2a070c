# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""An experiment survives crashes of its runs and of the machine."""

import json
from pathlib import Path

from toy_data import make_data, write_csv

from proemlc_ros.experiments.datasets import Source
from proemlc_ros.experiments.experiment import (
    OURS,
    OURS_BY_DEFAULT,
    ExperimentPlan,
    _ResultsFile,
    run_plan,
)


def test_an_interrupted_experiment_has_all_baselines_on_the_same_folds():
    source = Source('toy', Path('toy.csv'), ('2+1+1',))
    plan = ExperimentPlan((source,), (OURS, 'CC', 'PCT'), folds=3, baseline_folds=2)
    assert [(task.method, task.fold) for task in plan.tasks()] == [
        (OURS, 0), (OURS, 1), (OURS, 2), ('CC', 0), ('PCT', 0), ('CC', 1), ('PCT', 1)]


def test_results_survive_a_cut_line(tmp_path):
    path = tmp_path / 'runs.jsonl'
    results = _ResultsFile(path)
    results.add('one', [{'value': 1}])
    results.add('two', [{'value': 2}])
    path.write_bytes(path.read_bytes()[:-5])
    again = _ResultsFile(path)
    assert 'one' in again and 'two' not in again
    again.add('two', [{'value': 3}])
    assert _ResultsFile(path)['two'] == [{'value': 3}]


def test_records_of_earlier_versions_are_called_what_they_are(tmp_path):
    """Selected settings used to be called defaults."""
    path = tmp_path / 'runs.jsonl'
    _ResultsFile(path).add('one', [{'variant': 'default'}, {'variant': 'small'}])
    assert _ResultsFile(path)['one'] == [{'variant': 'selected settings'}, {'variant': 'small'}]


def test_a_failing_run_is_reported_and_the_others_go_on(tmp_path):
    write_csv(tmp_path / 'toy.csv', make_data())
    source = Source('toy', tmp_path / 'toy.csv', ('2+1+1',))
    plan = ExperimentPlan((source,), (OURS, OURS_BY_DEFAULT, 'nonsense'), folds=2, quick=True)
    done = []
    results = run_plan(plan, tmp_path / 'runs.jsonl', 1, done.append)
    assert len(done) == 6
    assert [(task.method, task.fold) for task in results.failures] == [
        ('nonsense', 0), ('nonsense', 1)]
    assert set(results.failures.values()) == {"KeyError: 'nonsense'"}
    assert {record['variant'] for record in results.records} == {
        'selected settings', 'default settings', 'least errors', 'small'}
    # It is tried again when the experiment is resumed.
    again = run_plan(plan, tmp_path / 'runs.jsonl', 1, done.append)
    assert len(again.failures) == 2
    assert again.records == json.loads(json.dumps(results.records))
