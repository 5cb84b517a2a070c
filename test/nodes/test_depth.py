# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A depth camera over DDS: predictions about regions say where they are."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from classifier_partner import ClassifierPartner, values_of
from proemlc_ros.msg import Region
from sensor_msgs.msg import CameraInfo, Image

WIDTH, HEIGHT, FOCAL = 64, 48, 60.0
# A board of 0.2 x 0.1 m before a wall: its middle in metres, and the box around it in pixels.
BOARD = (0.25, -0.1, 1.5)
BOX = Region(id='1', center_x=WIDTH / 2 + FOCAL * BOARD[0] / BOARD[2],
             center_y=HEIGHT / 2 + FOCAL * BOARD[1] / BOARD[2],
             size_x=0.2 * FOCAL / BOARD[2], size_y=0.1 * FOCAL / BOARD[2])


def depth_picture(encoding, shape=(HEIGHT, WIDTH)):
    """Return the wall and the board, with holes."""
    depth = np.full(shape, 3.0)
    if shape == (HEIGHT, WIDTH):
        left, top = int(BOX.center_x - BOX.size_x / 2), int(BOX.center_y - BOX.size_y / 2)
        depth[top:top + 5, left:left + 9] = BOARD[2]
    depth[::3, ::2] = 0.0
    values = (depth * 1000).astype('<u2') if encoding == '16UC1' else depth.astype('<f4')
    return Image(height=shape[0], width=shape[1], encoding=encoding,
                 step=values.itemsize * shape[1], data=values.tobytes())


@pytest.mark.slow
@pytest.mark.parametrize('encoding', ['16UC1', '32FC1'])
def test_regions_have_positions(start_process, ros, tmp_path, encoding):
    process = start_process(
        'classifier_node', '--ros-args', '-p', f'model_directory:={tmp_path}', '-p',
        'depth_topic:=depth', '-p', 'camera_info_topic:=info')
    partner = ClassifierPartner(ros)
    depths = partner.node.create_publisher(Image, 'depth', 10)
    infos = partner.node.create_publisher(CameraInfo, 'info', 10)
    info = CameraInfo(width=WIDTH, height=HEIGHT, k=np.array(
        [FOCAL, 0, WIDTH / 2 - 0.5, 0, FOCAL, HEIGHT / 2 - 0.5, 0, 0, 1], np.float64))

    def predicted(message, region=BOX):
        """Publish a depth picture, and features of the same stamp, until an answer comes."""
        number = predicted.number = getattr(predicted, 'number', 100) + 1
        message.header.stamp.sec = number
        infos.publish(info)
        depths.publish(message)
        partner.spin_for(0.2)
        return partner.predict(float(number), values_of(0), region=region, region_count=1)
    try:
        partner.wait_until_ready()
        partner.teach(6)
        partner.spin_until(lambda: depths.get_subscription_count()
                           and infos.get_subscription_count())
        answer = partner.spin_until(
            lambda: (one := predicted(depth_picture(encoding))).position_valid and one)
        found = np.array([answer.position_x, answer.position_y, answer.position_z])
        assert np.linalg.norm(found - BOARD) < 0.02 * np.linalg.norm(BOARD)
        # Not of the whole picture, and not where picture and depth are not aligned.
        assert not predicted(depth_picture(encoding), Region()).position_valid
        assert not predicted(depth_picture(encoding, (24, 32))).position_valid
        partner.spin_until(lambda: 'depth_misaligned' in process.output)
        assert '32 x 24' in process.output and 'aligned to the camera' in process.output
    finally:
        partner.close()
