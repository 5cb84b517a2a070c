# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc teach` from a video, a bag and a running camera, and how all its processes end."""

import signal
import threading
from array import array
from pathlib import Path

import cv2
import numpy as np
import pytest
import rclpy
from classifier_partner import LATCHED, ClassifierPartner
from dashboard_stand import wait_until
from proemlc_ros.msg import SourceState
from proemlc_ros.srv import ControlSource
from sensor_msgs.msg import Image

from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.conversions import new_header

pytestmark = pytest.mark.slow
COUNT = 12
WIDTH, HEIGHT = 64, 48


def pixels_of(number):
    return np.full((HEIGHT, WIDTH, 3), 20 * number, np.uint8)


def write_video(folder):
    path = folder / 'video.avi'
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*'MJPG'), 10, (WIDTH, HEIGHT))
    for number in range(COUNT):
        writer.write(pixels_of(number))
    writer.release()
    return path


def write_bag(folder):
    kind = 'sensor_msgs/msg/Image'
    with BagWriter(folder / 'bag') as bag:
        for number in range(COUNT):
            stamp = (1 + number) * 10**8
            for topic in ('/left', '/right'):
                bag._write(topic, kind, stamp, bag.messages.new(
                    kind, header=new_header(bag.messages, stamp), height=HEIGHT, width=WIDTH,
                    encoding='rgb8', is_bigendian=0, step=3 * WIDTH,
                    data=pixels_of(number).ravel()))
    return folder / 'bag'


@pytest.fixture
def teach(start_process, port, tmp_path, ros):
    """Return a function that starts the command and waits for predictions."""
    def start(*source):
        process = start_process('proemlc', 'teach', *source, '--hand-made', '--port', port,
                                '--folder', tmp_path / 'taught')
        partner = ClassifierPartner(ros).wait_until_ready()
        partner.spin_until(lambda: partner.heard['predictions'], what='predictions')
        return process, partner
    return start


def end(process, number, least=3):
    """End the command by a signal; it must end what it started, and say that all went well."""
    children = children_of(process)
    assert len(children) >= least
    assert process.stop(number) == 0
    wait_until(lambda: not any(Path(f'/proc/{child}').exists() for child in children),
               'the nodes to end')


def children_of(process):
    """Return the numbers of the processes that the command has started."""
    pid = process.process.pid
    return [int(word) for word in
            Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


class Control:
    """Moves in the pictures, and sees where the source is."""

    def __init__(self, partner):
        self._partner = partner
        self._partner.clients['source/control'] = partner.node.create_client(
            ControlSource, 'source/control')
        self._states = [SourceState()]
        partner.node.create_subscription(
            SourceState, 'source/state', self._states.append, LATCHED)

    def __call__(self, command, **fields):
        return self._partner.call('source/control', command=command, **fields)

    def wait(self, **values):
        """Wait until the newest state has these values."""
        self._partner.spin_until(
            lambda: all(getattr(self._states[-1], name) == value
                        for name, value in values.items()), what=f'a state of {values}')


@pytest.mark.parametrize('kind', ['video', 'bag'])
def test_pausing_and_moving_in_a_recording(teach, tmp_path, kind):
    source = ('--video', write_video(tmp_path)) if kind == 'video' else (
        '--bag', write_bag(tmp_path), '--topic', '/right')
    process, partner = teach(*source)
    control = Control(partner)
    assert control('pause').success
    assert control('seek', position=7).success
    control.wait(position=7, playing=False, count=COUNT, kind=kind)
    assert control('step').success
    control.wait(position=8, playing=False)
    assert control('seek', position=0).success and control('back').success
    control.wait(position=COUNT - 1)
    assert control('play').success
    control.wait(playing=True)
    partner.heard['predictions'].clear()
    partner.spin_until(lambda: len(partner.heard['predictions']) > 2, what='it goes on')
    refused = control('fly')
    assert not refused.success and "no command is named 'fly'" in refused.message
    partner.close()
    end(process, signal.SIGTERM if kind == 'video' else signal.SIGINT)


def test_every_field_of_a_command_has_bounds(start_process, ros):
    node = start_process('source_node')
    partner = ClassifierPartner(ros)
    control = Control(partner)
    partner.spin_until(partner.clients['source/control'].service_is_ready, what='the source')
    for text in ('x' * 10**6, 'a\x1b[2J', 'a\n[FATAL] [source]: gone', '\u202e'):
        for command, things in ((text, ()), ('show', [text]), ('show', ['cup', text])):
            answer = control(command, things=things)
            assert not answer.success and len(answer.message) < 500, (command, things)
            assert answer.message.isprintable()
    assert not control('show', things=['cup'] * 20_000).success
    assert control('show', things=['plant'], position=2**32 - 1).success
    assert not control('seek', position=2**32 - 1).success  # a table has no end
    partner.close()
    assert node.stop() == 0
    assert max(map(len, node.output.splitlines())) < 800


def test_a_running_camera_is_taught_from(teach, ros):
    camera = Camera(ros)
    try:
        process, partner = teach('--topic', '/robot/image')
        answer = partner.annotate(labels=['grey'])  # about the newest picture
        assert answer.success, answer.message
        partner.close()
        end(process, signal.SIGTERM)
    finally:
        camera.close()


def test_ended_before_the_page_is_there(start_process, port, tmp_path):
    process = start_process('proemlc', 'teach', '--topic', '/robot/image', '--hand-made',
                            '--port', port, '--folder', tmp_path / 'taught')
    wait_until(lambda: children_of(process), 'the first node')
    end(process, signal.SIGTERM, least=1)


def test_the_domain_and_the_addresses_for_other_terminals_are_printed(
        start_process, port, tmp_path):
    process = start_process('proemlc', 'teach', '--hand-made', '--port', port, '--folder',
                            tmp_path / 'taught', environment={'ROS_DOMAIN_ID': ''})
    domain = process.wait_for(r'ROS: +export ROS_DOMAIN_ID=(\d+) .*LOCALHOST')[1]
    assert f'Page:     http://127.0.0.1:{port}/' in process.output
    process.wait_for('Ready:')
    context = rclpy.Context()
    context.init(domain_id=int(domain))
    node = rclpy.create_node('other_terminal', context=context)
    wait_until(lambda: 'proemlc' in node.get_node_names(), 'the classifier in that domain')
    node.destroy_node()
    context.try_shutdown()
    end(process, signal.SIGINT)


class Camera:
    """Publishes pictures ten times a second, from a thread."""

    def __init__(self, context):
        self._node = rclpy.create_node('robot_camera', context=context)
        self._publisher = self._node.create_publisher(Image, '/robot/image', 5)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._publish)
        self._thread.start()

    def _publish(self):
        message = Image(height=HEIGHT, width=WIDTH, encoding='rgb8', step=3 * WIDTH,
                        data=array('B', pixels_of(5).tobytes()))
        while not self._stop.wait(0.1):
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(message)

    def close(self):
        self._stop.set()
        self._thread.join()
        self._node.destroy_node()
