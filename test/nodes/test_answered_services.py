# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a client is told of a request that failed."""

import errno
import os

import pytest

pytest.importorskip('rclpy')

from proemlc_ros.errors import SampleError, UnknownLabelError
from proemlc_ros.nodes.classifier.answered_services import reason


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
