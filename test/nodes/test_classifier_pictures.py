# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Camera pictures for the journal."""

from array import array

import cv2
import numpy as np
from sensor_msgs.msg import CompressedImage

from proemlc_ros.nodes.classifier_topics import CameraSource
from proemlc_ros.records import WHOLE

KIND = 'sensor_msgs/msg/CompressedImage'


def jpeg() -> bytes:
    random = np.random.default_rng(0)
    _, data = cv2.imencode('.jpg', random.integers(0, 255, (60, 80, 3), np.uint8))
    return data.tobytes()


def kept(data: bytes) -> bytes:
    message = CompressedImage(format='jpeg', data=array('B', data))
    return CameraSource(message, KIND, 320, 80).picture(WHOLE).data


def test_a_small_jpeg_is_kept_as_it_came():
    assert kept(jpeg()) == jpeg()


def test_what_is_hidden_in_a_jpeg_does_not_fill_the_journal():
    comments = b'\xff\xfe\xff\xff' + bytes(65_533)
    assert len(kept(jpeg()[:2] + 100 * comments + jpeg()[2:])) < 20_000
