# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The definitions that a journal is written with, without the library for bags."""

import subprocess
import sys

import pytest

from proemlc_ros.bags.message_types import definition_and_hash
from proemlc_ros.journal.entries import ENTRY_TYPES
from proemlc_ros.journal.metadata import entry_definition

WITHOUT_ROSBAGS = """
import sys
sys.modules['rosbags'] = None
from pathlib import Path
import proemlc_ros.nodes.classifier_node
import proemlc_ros.nodes.feature_node
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Event, EventKind
journal = Journal(Path(sys.argv[1]))
print(journal.append([Event(EventKind.RESET)]))
journal.close()
"""


@pytest.mark.parametrize('type_name', [
    *ENTRY_TYPES, *(f'proemlc_ros/msg/{name}' for name in (
        'FeatureVector', 'Prediction', 'RegionArray', 'LabelQuery'))])
def test_the_same_as_with_the_library(type_name):
    definition, type_hash = entry_definition(type_name)
    expected, expected_hash = definition_and_hash(type_name)
    assert definition == expected
    assert type_hash in (expected_hash, '')  # empty where only a checkout is there


def test_classifier_and_feature_node_run_without_the_library_for_bags(tmp_path):
    pytest.importorskip('rclpy')
    pytest.importorskip('proemlc_ros.msg')
    done = subprocess.run([sys.executable, '-c', WITHOUT_ROSBAGS, tmp_path / 'journal'],
                          capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, '[1]\n'), done.stderr
