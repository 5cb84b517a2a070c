# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Two robots from two launch lines: each page shows the predictions and the camera of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('launch_ros', reason='launch_ros is not installed; it comes with ROS 2')
launch_pytest = pytest.importorskip('launch_pytest')
aiohttp = pytest.importorskip('aiohttp')
cv2 = pytest.importorskip('cv2')

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from ros_process import DEADLINE
from sensor_msgs.msg import Image

from launch import LaunchDescription

pytestmark = pytest.mark.slow

LAUNCH_FILE = Path(__file__).parents[2] / 'launch' / 'teach.launch.py'
# Namespace, port, topic of the camera and how bright it is.
ROBOTS = (('robot1', 8698, '/robot1/camera/image_raw', 30),
          ('robot2', 8699, '/robot2/front', 220))


def included(**arguments):
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(LAUNCH_FILE)),
                                    launch_arguments=arguments.items())


@launch_pytest.fixture
def description(ros_domain_id, tmp_path):
    # The second robot's classifier has another name, and its features another topic.
    return LaunchDescription([
        included(namespace='robot1', model_directory=str(tmp_path / '1'), port='8698'),
        included(namespace='robot2', model_directory=str(tmp_path / '2'), port='8699',
                 name='eyes', image_topic='/robot2/front',
                 remappings='~/features:=/robot2/seen'),
        launch_pytest.actions.ReadyToTest(),
    ])


async def cameras(node):
    """Publish pictures of both robots at 10 Hz."""
    publishers = [(node.create_publisher(Image, topic, 10), grey) for _, _, topic, grey in ROBOTS]
    while True:
        for publisher, grey in publishers:
            pixels = np.full((48, 64, 3), grey, np.uint8)
            image = Image(height=48, width=64, step=192, encoding='rgb8', data=pixels.tobytes())
            image.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(image)
        await asyncio.sleep(0.1)


async def page_pair(port):
    """Return the first prediction with a picture on a page, and how bright the picture is."""
    origin = f'http://127.0.0.1:{port}'
    async with aiohttp.ClientSession(origin, headers={'Origin': origin}) as client:
        while True:
            try:
                async with client.ws_connect('/ws') as page:
                    picture = b''
                    async for message in page:
                        if message.type is aiohttp.WSMsgType.BINARY:
                            picture = message.data
                            continue
                        content = json.loads(message.data)
                        if content['type'] == 'prediction' and content['picture']:
                            pixels = np.frombuffer(picture[8:], np.uint8)
                            return content, cv2.imdecode(pixels, cv2.IMREAD_COLOR).mean()
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)  # the server is not up yet


async def first_pairs(node):
    pictures = asyncio.create_task(cameras(node))
    try:
        return await asyncio.wait_for(
            asyncio.gather(*(page_pair(port) for _, port, _, _ in ROBOTS)), DEADLINE)
    finally:
        pictures.cancel()


@pytest.mark.launch(fixture=description)
def test_each_page_shows_its_own_robot(ros):
    node = rclpy.create_node('cameras', context=ros)
    pairs = asyncio.run(first_pairs(node))
    for (prediction, brightness), (_, _, _, grey) in zip(pairs, ROBOTS, strict=True):
        assert int(prediction['stamp']) > 0
        assert abs(brightness - grey) < 10
    node.destroy_node()


RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

service = LaunchService()
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]),
    launch_arguments=[word.split(':=', 1) for word in sys.argv[2:]])]))
sys.exit(service.run())
"""


def launched(*arguments):
    """Launch as `ros2 launch` does, and return exit code and output."""
    done = subprocess.run([sys.executable, '-c', RUN, LAUNCH_FILE, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE)
    return done.returncode, done.stdout


@pytest.mark.parametrize(('argument', 'text'), [
    ('port:=abc', 'port:=abc is not a port'),
    ('features_file:=/nowhere.yaml', 'features_file:=/nowhere.yaml'),
    ('remappings:=broken', 'not of the form from:=to')])
def test_nothing_starts_with_arguments_that_cannot_be_used(argument, text, ros_domain_id):
    code, seen = launched(argument)
    assert code == 1
    assert text in seen and 'process started' not in seen


def test_a_page_that_would_be_open_to_strangers_is_a_failure(ros_domain_id, tmp_path):
    code, seen = launched('address:=0.0.0.0', f'model_directory:={tmp_path / "model"}')
    assert code == 1 and 'dashboard_node' in seen, seen


def test_all_end_when_one_fails(ros_domain_id, tmp_path):
    """The feature node finds no extractor of that name; the others would run on for nothing."""
    features = tmp_path / 'features.yaml'
    features.write_text('/**: {ros__parameters: {sensors: [a], a: {topic: x, extractor: none}}}\n')
    code, seen = launched(f'features_file:={features}', 'port:=0',
                          f'model_directory:={tmp_path / "model"}')
    assert code == 1, seen
    assert seen.count('process started') == 3
    # All of them, though one may not have got as far as to end cleanly.
    assert seen.count('process has finished cleanly') + seen.count('process has died') == 3, seen
