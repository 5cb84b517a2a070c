# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's life: every transition, resuming, disks that refuse, and being killed."""

from __future__ import annotations

import contextlib
import os
import subprocess

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import kill_trial
from classifier_partner import seconds_of, values_of, vector
from lifecycle_msgs.msg import Transition

pytestmark = pytest.mark.slow


def change(partner, transition: int) -> bool:
    return partner.call('change_state', transition=Transition(id=transition)).success


def state_of(partner) -> str:
    return partner.call('get_state').current_state.label


def scores_of(partner) -> list[float]:
    answer = partner.call('predict', features=vector(values_of(99)))
    assert answer.success, answer.message
    return list(answer.prediction.scores)


def test_every_transition_keeps_what_was_learnt(classifier):
    node, partner = classifier('autostart:=false', ready=False)
    assert state_of(partner) == 'unconfigured'
    assert partner.diagnostics()['Lifecycle state'] == 'unconfigured'
    assert change(partner, Transition.TRANSITION_CONFIGURE)
    assert state_of(partner) == 'inactive'
    refused = partner.annotate(labels=['cup'], features=values_of(1))
    assert not refused.success and 'not active' in refused.message
    assert change(partner, Transition.TRANSITION_ACTIVATE)
    partner.wait_until_ready()
    assert partner.annotate(labels=['cup'], features=values_of(1)).success
    assert partner.predict(1.0, values_of(1)).labels == ['cup']
    expected = scores_of(partner)
    assert change(partner, Transition.TRANSITION_DEACTIVATE)
    for _ in range(5):
        partner.send(2.0, values_of(2))
        partner.spin_for(0.1)
    assert 2.0 not in [seconds_of(message.header) for message in partner.heard['predictions']]
    assert change(partner, Transition.TRANSITION_CLEANUP)
    assert state_of(partner) == 'unconfigured'
    # Until then a request would go to the service that was taken down.
    partner.spin_until(lambda: not partner.clients['predict'].service_is_ready())
    assert change(partner, Transition.TRANSITION_CONFIGURE)
    assert change(partner, Transition.TRANSITION_ACTIVATE)
    assert scores_of(partner) == expected
    assert partner.predict(3.0, values_of(3)).label_set_version == 1
    assert change(partner, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state_of(partner) == 'finalized'
    assert node.stop() == 0
    assert 'Traceback' not in node.output


def test_it_resumes_and_can_be_told_not_to(classifier, tmp_path):
    node, partner = classifier()
    for number in range(5):
        assert partner.annotate(labels=[f'label {number}'], features=values_of(number)).success
    expected = scores_of(partner)
    node.kill()
    node, partner = classifier()
    assert scores_of(partner) == expected
    assert '5 journal entries replayed' in node.output and 'proof' not in node.output
    assert partner.call('undo').success
    assert node.stop() == 0
    node, partner = classifier('resume:=false')
    assert partner.heard['labels'][-1].names == []
    assert (tmp_path / 'model/snapshot.npz').exists()
    assert partner.call('undo').success is False


def test_a_second_node_on_the_same_folder_is_refused(classifier, start_process, tmp_path):
    classifier()
    other = start_process('classifier_node', '--ros-args', '-r', '__node:=other', '-p',
                          f'model_directory:={tmp_path / "model"}')
    assert other.wait() == 1
    assert 'another classifier uses the model directory' in other.output


@pytest.fixture
def disk(tmp_path):
    """Return a function that makes the model directory a disk of some size, or skips."""
    folder = tmp_path / 'model'

    def mount(size: str):
        folder.mkdir()
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', folder],
                          capture_output=True).returncode:
            pytest.skip('no permission to mount a small disk')
        return folder
    yield mount
    if folder.is_mount():
        subprocess.run(['umount', '-l', folder], check=True)


def test_a_full_disk_refuses_teaching_but_not_predicting(classifier, disk):
    folder = disk('16m')
    node, partner = classifier()
    assert partner.annotate(labels=['cup'], features=values_of(1)).success
    fill(folder / 'filler')
    answers = [partner.annotate(labels=[f'l {n}'], features=values_of(n)) for n in range(40)]
    refused = [answer for answer in answers if not answer.success]
    assert refused and 'full' in refused[-1].message
    saved = partner.call('save_model', file_name='kitchen')
    assert not saved.success and 'No space left' in saved.message
    assert partner.predict(1.0, values_of(1)).labels
    values = partner.diagnostics(lambda v: 'Rejected: journal' in v)
    assert values['Lifecycle state'] == 'active'
    (folder / 'filler').unlink()
    assert partner.annotate(labels=['plate'], features=values_of(2)).success
    learnt = int(partner.diagnostics()['Samples learnt'])
    assert learnt == 2 + len(answers) - len(refused)
    assert node.stop() == 0


def fill(path) -> None:
    with open(path, 'wb') as filler, contextlib.suppress(OSError):
        while True:
            os.write(filler.fileno(), bytes(4096))


def test_a_read_only_directory_refuses_teaching_but_not_predicting(classifier, disk):
    folder = disk('9m')
    node, partner = classifier()
    assert partner.annotate(labels=['cup'], features=values_of(1)).success
    # No file is open for writing between transactions but those that SQLite keeps.
    if subprocess.run(['mount', '-o', 'remount,ro,force', folder],
                      capture_output=True).returncode:
        pytest.skip('the disk cannot be made read-only while it is in use')
    refused = partner.annotate(labels=['plate'], features=values_of(2))
    assert not refused.success and 'readonly' in refused.message.replace('-', '')
    assert not partner.call('save_model', file_name='kitchen').success
    assert partner.predict(1.0, values_of(1)).labels == ['cup']
    subprocess.run(['mount', '-o', 'remount,rw', folder], check=True)
    assert partner.annotate(labels=['plate'], features=values_of(2)).success
    assert node.stop() == 0


def test_a_folder_that_cannot_be_made_is_named(start_process, tmp_path):
    (tmp_path / 'file').write_text('')
    node = start_process('classifier_node', '--ros-args', '-p',
                         f'model_directory:={tmp_path / "file" / "model"}')
    assert node.wait() == 1
    assert 'set model_directory to a folder that can be written' in node.output


def test_kill_9_loses_nothing(ros, tmp_path, measured):
    kills = int(os.environ.get('PROEMLC_KILLS', '5'))
    measured(kill_trial.run(kills, tmp_path / 'model', ros))


def test_the_journal_is_an_ordinary_bag(classifier, tmp_path):
    from rosbags.highlevel import AnyReader
    node, partner = classifier()
    for number in range(3):
        assert partner.annotate(float(number + 1), [f'label {number}'],
                                values_of(number)).success
    partner.call('undo')
    assert node.stop() == 0
    with AnyReader([tmp_path / 'model/journal']) as reader:
        assert [(c.topic, c.msgcount) for c in reader.connections] == [
            ('/proemlc/annotations', 3), ('/proemlc/events', 1), ('/proemlc/pictures', 0)]
        messages = [reader.deserialize(data, connection.msgtype)
                    for connection, _, data in reader.messages()]
    np.testing.assert_array_equal(messages[1].features, values_of(1))
    assert messages[3].kind == 1
