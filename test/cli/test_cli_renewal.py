# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that let all samples decide: of tables, bags, and the journals of a fleet."""

from __future__ import annotations

import json

import numpy as np
import pytest
from corrections import rename

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation


@pytest.fixture
def tables(tmp_path, samples):
    """Return a training and a test table of the samples, as CSV and as NumPy archive."""
    lines = ['a,b,c,d,e,f,labels'] + [
        ','.join(map(str, values)) + ',' + ';'.join(labels) for values, labels in samples]
    train, test = tmp_path / 'train.csv', tmp_path / 'test.npz'
    train.write_text('\n'.join(lines[:201]) + '\n')
    names = ['cup', 'red', 'robot']
    np.savez(test, X=[values for values, _ in samples[200:]], label_names=names,
             Y=[[name in labels for name in names] for _, labels in samples[200:]])
    return train, test


def test_a_training_and_a_test_table(proemlc, tables, tmp_path):
    train, test = tables
    report = tmp_path / 'report.json'
    code, out, err = proemlc('evaluate', test, '--train', train, '--select', '--json', report)
    assert code == 0, err
    assert 'selected on train.csv' in out
    run, = json.loads(report.read_text())['runs']
    assert run['samples'] == 100
    assert run['metrics']['f1'] > 0.85


def test_settings_of_select_are_taken(proemlc, tables, tmp_path):
    train, test = tables
    settings, model = tmp_path / 'settings.json', tmp_path / 'model.npz'
    assert proemlc('select', train, '--sizes', '10,20', '--json', settings)[0] == 0
    code, _, err = proemlc('train', train, '--settings', settings, '-o', model)
    assert code == 0, err
    assert ProEMLC.load(model).options.as_dict() == json.loads(settings.read_text())
    assert proemlc('evaluate', test, '--settings', settings)[0] == 0
    settings.write_text('{"colour": "red"}')
    code, _, err = proemlc('train', train, '--settings', settings, '-o', model)
    assert code == 1
    assert 'settings.json' in err and 'colour' in err


def test_select_and_train_on_a_bag(proemlc, bag, samples, tmp_path):
    code, out, err = proemlc('select', bag, '--sizes', '10,40')
    assert code == 0, err
    assert '<- chosen' in out
    code, out, err = proemlc('train', bag, '--select', '-o', tmp_path / 'model.npz')
    assert code == 0, err
    model = ProEMLC.load(tmp_path / 'model.npz')
    assert model.samples == len(samples)
    predicted = model.predict(np.array([values for values, _ in samples]))
    right = [set(found) == set(labels)
             for found, (_, labels) in zip(predicted, samples, strict=True)]
    assert np.mean(right) > 0.8


def taught_directory(folder, samples, seed: int) -> None:
    """Make the model directory of a robot that was taught some samples, one of them undone."""
    def new_learner() -> ProEMLC:
        return ProEMLC(hidden_size=30, seed=seed)

    directory = ModelDirectory(folder)
    journal = Journal(directory.journal)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    durable.learn([Annotation(number + 1, labels, features=values)
                   for number, (values, labels) in enumerate(samples)])
    durable.learn([Annotation(999, ('wrong',), features=samples[0][0])])
    durable.undo()
    rename(durable, 'cup', 'mug')
    durable.save('robot')
    journal.close()
    directory.close()


def test_robots_with_layers_of_their_own_merge_by_their_journals(proemlc, samples, tmp_path):
    for name, part, seed in (('a', samples[:150], 1), ('b', samples[150:], 2)):
        taught_directory(tmp_path / name, part, seed)
    out = tmp_path / 'fleet.npz'
    for given in (('a/journal', 'b/journal'), ('a', 'b'), ('a/robot.npz', 'b/robot.npz')):
        code, said, err = proemlc('merge', *(tmp_path / path for path in given), '-o', out)
        assert code == 0, err
        fleet = ProEMLC.load(out)
        assert fleet.samples == 300
        assert sorted(fleet.labels) == ['mug', 'red', 'robot']
    predicted = fleet.predict(np.array([values for values, _ in samples]))
    wanted = [{'mug' if name == 'cup' else name for name in labels} for _, labels in samples]
    assert np.mean([set(a) == b for a, b in zip(predicted, wanted, strict=True)]) > 0.8


def test_columns_that_are_no_quantities_are_said(proemlc, tmp_path):
    random = np.random.default_rng(0)
    lines = ['sample_id,colour,size,label:big'] + [
        f'{number + 100},{random.choice([0, 1, 2, 3], p=[0.4, 0.1, 0.4, 0.1])},{size},'
        f'{int(size > 0)}' for number, size in enumerate(random.normal(size=200))]
    path = tmp_path / 'table.csv'
    path.write_text('\n'.join(lines) + '\n')
    code, out, err = proemlc('select', path, '--sizes', '5')
    assert code == 0, err
    assert "column 'sample_id': numbers the samples" in out
    assert "column 'colour': few whole numbers" in out
    assert "'size'" not in out
