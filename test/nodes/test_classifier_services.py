# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The services of the classifier, over DDS, with the node in its own process."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from classifier_partner import values_of, vector

from proemlc_ros.errors import SampleError, UnknownLabelError
from proemlc_ros.nodes.classifier_services import reason


def test_services_undo_rename_remove_reset_predict(classifier):
    _, partner = classifier()
    partner.teach(6)
    before = partner.call('predict', features=vector(values_of(50))).prediction.scores
    assert partner.annotate(labels=['owl'], features=values_of(77)).success
    assert partner.annotate(labels=['owl', 'label 0'], features=values_of(78)).success
    assert partner.call('undo').success
    assert 'owl' in partner.call('undo').message
    after = partner.call('predict', features=vector(values_of(50)))
    np.testing.assert_allclose(after.prediction.scores, before, atol=1e-6)
    assert partner.call('rename_label', label='label 0', new_label='zero').success
    assert not partner.call('rename_label', label='label 0', new_label='x').success
    assert not partner.call('rename_label', label='label 1', new_label='zero').success
    assert partner.call('remove_label', label='label 1').success
    refused = partner.call('remove_label', label='nobody')
    assert not refused.success and 'nobody' in refused.message
    state = partner.spin_until(
        lambda: [m for m in partner.heard['labels'] if m.names == ['zero', 'label 2']])[-1]
    versions = [message.version for message in partner.heard['labels']]
    assert versions == sorted(versions) and state.version == versions[-1]
    partner.spin_until(lambda: len(partner.heard['events']) >= 4, what='four events')
    assert [event.kind for event in partner.heard['events']] == [1, 1, 2, 3]
    assert partner.call('reset').success
    assert partner.spin_until(
        lambda: [m for m in partner.heard['labels'] if not m.names and m.version > state.version])
    empty = partner.call('undo')
    assert not empty.success and 'no annotation is left' in empty.message


def test_models_are_saved_and_loaded_by_name(classifier, tmp_path):
    _, partner = classifier()
    partner.teach()
    saved = partner.call('save_model', file_name='kitchen')
    assert saved.success and (tmp_path / 'model/kitchen.npz').is_file()
    expected = partner.call('predict', features=vector(values_of(50))).prediction
    partner.teach(5, start=100)
    loaded = partner.call('load_model', file_name='kitchen.npz')
    assert loaded.success and '3 labels, 12 samples' in loaded.message
    again = partner.call('predict', features=vector(values_of(50))).prediction
    assert again.scores == expected.scores
    assert partner.call('save_model').success
    assert (tmp_path / 'model/snapshot.npz').is_file()


def test_bad_model_files_leave_the_model_alone(classifier, tmp_path):
    _, partner = classifier()
    partner.teach()
    folder = tmp_path / 'model'
    assert partner.call('save_model', file_name='good').success
    (folder / 'foreign.npz').write_bytes(b'PK\x03\x04 not ours')
    whole = (folder / 'good.npz').read_bytes()
    (folder / 'cut.npz').write_bytes(whole[:len(whole) // 2])
    (tmp_path / 'outside.npz').write_bytes(whole)
    (folder / 'link.npz').symlink_to(tmp_path / 'outside.npz')
    expected = partner.call('predict', features=vector(values_of(50))).prediction.scores
    for name in ('missing', 'foreign', 'cut', 'link', '../outside', str(tmp_path / 'outside')):
        answer = partner.call('load_model', file_name=name)
        assert not answer.success and answer.message
    for name in ('../outside', 'a/b', '/etc/x', 'link'):
        assert not partner.call('save_model', file_name=name).success
    assert partner.call('predict', features=vector(values_of(50))).prediction.scores == expected
    assert int(partner.diagnostics()['Rejected']) >= 10


def test_a_full_disk_is_named_with_the_file_and_the_remedy():
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), '/robot/model/journal')
    assert reason(error) == ('cannot write /robot/model/journal: No space left on device; check '
                             'the disk for space and the folder for write permission')


def test_a_missing_file_is_not_said_to_be_unwritable():
    error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), 'new.yaml')
    assert reason(error) == 'new.yaml: there is no such file'


def test_errors_of_the_package_speak_for_themselves():
    assert reason(SampleError('sample 4 is gone')) == 'sample 4 is gone'
    assert reason(UnknownLabelError("there is no label 'cup'")) == "there is no label 'cup'"


def test_a_fault_of_ours_is_called_so():
    assert reason(ZeroDivisionError('division')) == (
        "internal error: ZeroDivisionError('division')")
