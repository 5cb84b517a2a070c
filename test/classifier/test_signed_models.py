# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A classifier with a key: it signs what it saves, and loads what fits its key."""

from __future__ import annotations

import pytest
from durable_model_stand import Opened, scores_of, teach_some

from proemlc_ros.core.storage.container import Signature, signature_of
from proemlc_ros.errors import ModelFileError, SignatureError

KEY = b'key of the fleet, 32 characters.'


@pytest.fixture
def strict(opened, tmp_path):
    """Return a durable model that requires signatures, and its folder."""
    durable = opened()
    durable.directory.key, durable.directory.require_signature = KEY, True
    return durable, tmp_path / 'model'


def test_saved_files_and_snapshots_are_signed(strict):
    durable, folder = strict
    teach_some(durable, 5)
    durable.snapshot()
    durable.save('kitchen')
    durable.reset()
    for name in ('kitchen', 'snapshot', 'before_reset'):
        data = (folder / f'{name}.npz').read_bytes()
        assert signature_of(data, KEY) is Signature.VALID
    durable.load('kitchen')
    assert durable.model.learner.samples == 5


def test_files_that_do_not_fit_leave_the_model_alone(strict):
    durable, folder = strict
    teach_some(durable, 5)
    durable.model.learner.save(folder / 'unsigned.npz')
    durable.model.learner.save(folder / 'foreign.npz', key=bytes(32))
    teach_some(durable, 3, start=5)
    before, position = scores_of(durable), durable.position
    for name in ('unsigned', 'foreign'):
        with pytest.raises(SignatureError):
            durable.load(name)
    assert durable.position == position
    assert (scores_of(durable) == before).all()
    durable.directory.require_signature = False
    durable.load('unsigned')
    with pytest.raises(SignatureError):
        durable.load('foreign')


def test_what_was_accepted_before_is_resumed(opened, strict):
    durable, folder = strict
    durable.directory.key, durable.directory.require_signature = None, False
    teach_some(durable, 5)
    durable.save('kitchen')
    durable.load('kitchen')
    teach_some(durable, 3, start=5)
    expected = scores_of(durable)
    for path in folder.glob('snapshot*.npz'):
        path.unlink()
    again = opened()
    again.directory.key, again.directory.require_signature = KEY, True
    assert (scores_of(again) == expected).all()


@pytest.mark.parametrize('extra', [
    {'label_set_version': 'two'}, {'position': -1}, {'lessons': 5}, {'lessons': [[1, 2]]},
    {'lessons': [['1', [], [], []]]}, {'lessons': [[1, [2], [], []]]},
    {'lessons': [[1, None, [], []]]}, {'label_set_version': 1e9}])
def test_a_snapshot_with_wrong_values_beside_the_model_is_not_used(extra, opened, tmp_path):
    durable = opened()
    teach_some(durable, 4)
    durable.snapshot()
    expected = scores_of(durable)
    durable.model.learner.save(tmp_path / 'model/snapshot.npz', extra={'position': 4, **extra})
    again = opened()
    assert any('cannot be used' in note for note in opened.report.notes)
    assert (scores_of(again) == expected).all()


def test_the_node_reads_its_key(tmp_path):
    pytest.importorskip('rclpy')
    from types import SimpleNamespace

    from proemlc_ros.errors import ParameterError
    from proemlc_ros.nodes.classifier_parameters import CLASSIFIER_PARAMETERS, open_classifier
    Opened(tmp_path / 'other').durable.model.learner.save(tmp_path / 'unsigned.npz')
    values = SimpleNamespace(**{one.name: one.default for one in CLASSIFIER_PARAMETERS})
    values.model_directory, values.require_signature = str(tmp_path), True
    with pytest.raises(ParameterError, match='set model_key_file'):
        open_classifier(values, '/proemlc', print)
    values.model_key_file = str(tmp_path / 'fleet.key')
    with pytest.raises(ParameterError, match='cannot be read'):
        open_classifier(values, '/proemlc', print)
    (tmp_path / 'fleet.key').write_bytes(KEY)
    values.model_file = 'unsigned.npz'
    with pytest.raises(ModelFileError, match='signature is required'):
        open_classifier(values, '/proemlc', print)
    values.require_signature = False
    classifier, report = open_classifier(values, '/proemlc', print)
    try:
        assert (report.notes, report.began_with) == ([], 'unsigned.npz')
        assert classifier.durable.directory.key == KEY
    finally:
        classifier.close()
