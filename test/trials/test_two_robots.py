# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: each page shows its own robot, and no picture of another moment."""

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('aiohttp')
pytest.importorskip('proemlc_ros.msg')

from two_robots import LEAST, ROBOTS, painted, read, run

pytestmark = pytest.mark.slow


def test_pictures_prove_themselves():
    import cv2
    for number, robot in ((0, 0), (12345, 1), (32767, 0)):
        _, jpeg = cv2.imencode('.jpg', painted(number, robot))
        assert read(jpeg.tobytes()) == (number, robot)


def test_two_robots_on_one_machine(ros, tmp_path):
    counts = run(5.0, tmp_path, ros, busy=1)
    for found in counts:
        assert found['pairs'] >= LEAST
        assert found['of another robot'] == found['of another moment'] == 0
    from proemlc_ros.core import ProEMLC
    first, second = (ProEMLC.load(tmp_path / name / 'snapshot.npz') for name in ROBOTS)
    assert (first.labels, second.labels) == (['thing of robot1'], [])
