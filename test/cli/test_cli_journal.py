# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The journal of a node is accepted wherever a bag is."""

import json

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader

from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, Event, EventKind

SETTINGS = {'hidden_size': 40, 'activation': 'relu', 'scaling': 'none'}
SMALL = ('--hidden-size', '40', '--activation', 'relu', '--scaling', 'none')


@pytest.fixture
def journal(tmp_path, samples):
    """Return the folder of a journal: a hundred annotations, one taken back, a label renamed."""
    opened = Journal(tmp_path / 'journal')
    for number, (values, labels) in enumerate(samples[:100], 1):
        opened.append([Annotation(number, labels, features=values, extractor='maker/1')])
    opened.append([Event(EventKind.UNDO, 200)])
    opened.append([Event(EventKind.RENAME, 201, label='red', new_label='crimson')])
    opened.close()
    return tmp_path / 'journal'


@pytest.fixture
def expected_model(samples):
    """Return the model that the journal leads to."""
    model = ProEMLC(**SETTINGS)
    for values, labels in samples[:100]:
        model.learn(values, labels)
    model.unlearn(samples[99][0], samples[99][1])
    model.rename_label('red', 'crimson')
    return model


def test_other_readers_understand_it(journal):
    with AnyReader([journal]) as reader:
        counts = {connection.msgtype: connection.msgcount for connection in reader.connections}
        read = [reader.deserialize(data, connection.msgtype)
                for connection, _, data in reader.messages()]
        assert all(connection.msgdef.data for connection in reader.connections)
    assert counts == {'proemlc_ros/msg/LabelAnnotation': 100, 'proemlc_ros/msg/ModelEvent': 2,
                      'sensor_msgs/msg/CompressedImage': 0}
    assert len(read) == 102
    metadata = yaml.safe_load((journal / 'metadata.yaml').read_text())
    information = metadata['rosbag2_bagfile_information']
    assert information['version'] == 9 and information['message_count'] == 102


def test_info(proemlc, journal):
    code, out, _ = proemlc('info', journal)
    assert code == 0
    assert 'journal, 3 topics, 102 messages' in out
    assert '100 annotations' in out and 'events: 1 undo, 1 rename' in out


def test_evaluate(proemlc, journal, tmp_path):
    code, _, err = proemlc('evaluate', journal, *SMALL, '--json', tmp_path / 'out.json')
    assert (code, err) == (0, '')
    (run,) = json.loads((tmp_path / 'out.json').read_text())['runs']
    # One of the 100 annotations was undone: it is not the truth.
    assert run['samples'] == 99 and run['rejects'] == {}


def test_train_repeats_all_entries(proemlc, journal, expected_model, samples, tmp_path):
    code, out, err = proemlc('train', journal, '-o', tmp_path / 'model.npz', *SMALL)
    assert (code, err) == (0, '') and '99 samples' in out
    model = ProEMLC.load(tmp_path / 'model.npz')
    assert sorted(model.labels) == sorted(expected_model.labels) == ['crimson', 'cup']
    rows = np.array([values for values, _ in samples])
    order = [model.labels.index(name) for name in expected_model.labels]
    np.testing.assert_allclose(
        model.scores(rows)[:, order], expected_model.scores(rows), atol=1e-8)
    assert model.extra['extractor'] == 'maker/1'
