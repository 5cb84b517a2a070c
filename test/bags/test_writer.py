# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags that we write, read by the library rosbags alone."""

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader
from rosbags.interfaces import MessageDefinitionFormat

from proemlc_ros.bags.message_types import default_typestore
from proemlc_ros.bags.writer import DEFAULT_START, make_bag
from proemlc_ros.errors import BagError


def test_other_readers_understand_it_without_knowing_us(bag, samples):
    # No default typestore: the definitions in the bag have to do.
    with AnyReader([bag]) as reader:
        assert {c.msgdef.format for c in reader.connections} == {MessageDefinitionFormat.MSG}
        read = [(c.topic, time, reader.deserialize(data, c.msgtype))
                for c, time, data in reader.messages()]
    assert [topic for topic, _, _ in read[:4]] == 2 * ['/proemlc/features', '/proemlc/annotations']
    features = [m for topic, _, m in read if topic.endswith('features')]
    annotations = [m for topic, _, m in read if topic.endswith('annotations')]
    for (values, labels), vector, annotation in zip(samples, features, annotations, strict=True):
        np.testing.assert_array_equal(vector.data, values)
        assert tuple(annotation.labels) == labels and annotation.complete
        assert annotation.header.stamp == vector.header.stamp


def test_metadata_counts_and_hashes_are_right(bag, storage):
    metadata = yaml.safe_load((bag / 'metadata.yaml').read_text())
    information = metadata['rosbag2_bagfile_information']
    assert information['version'] == 9
    assert information['storage_identifier'] == storage
    assert information['message_count'] == 120
    assert information['starting_time']['nanoseconds_since_epoch'] == DEFAULT_START
    assert information['duration']['nanoseconds'] == round(59.5 * 1e8)
    store = default_typestore()
    for topic in information['topics_with_message_count']:
        assert topic['message_count'] == 60
        described = topic['topic_metadata']
        assert described['type_description_hash'] == store.hash_rihs01(described['type'])
    assert [file['message_count'] for file in information['files']] == [120]


def test_an_existing_folder_is_not_overwritten(bag, samples):
    before = (bag / 'metadata.yaml').read_bytes()
    with pytest.raises(BagError, match='exists already'):
        make_bag(bag, samples)
    assert (bag / 'metadata.yaml').read_bytes() == before


def test_nothing_stays_behind_after_an_error(tmp_path, samples):
    def failing():
        yield samples[0]
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        make_bag(tmp_path / 'bag', failing())
    assert not (tmp_path / 'bag').exists()


def test_a_folder_that_cannot_be_made(tmp_path, samples):
    (tmp_path / 'file').write_text('')
    with pytest.raises(BagError, match='cannot be written'):
        make_bag(tmp_path / 'file' / 'bag', samples)
