# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file with the dashboard: picture in, prediction on the page's websocket out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('launch_ros', reason='launch_ros is not installed; it comes with ROS 2')
launch_pytest = pytest.importorskip('launch_pytest')
aiohttp = pytest.importorskip('aiohttp')

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from sensor_msgs.msg import Image

from launch import LaunchDescription

pytestmark = pytest.mark.slow

LAUNCH_FILE = Path(__file__).parents[2] / 'launch' / 'teach.launch.py'
PORT = 8698


@launch_pytest.fixture
def description(ros_domain_id, tmp_path):
    return LaunchDescription([
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH_FILE)),
            launch_arguments={
                'namespace': 'robot', 'name': 'eyes', 'model_directory': str(tmp_path / 'model'),
                'port': str(PORT),
            }.items()),
        launch_pytest.actions.ReadyToTest(),
    ])


async def camera(publish):
    """Publish pictures at 10 Hz."""
    while True:
        publish()
        await asyncio.sleep(0.1)


async def page_prediction():
    """Connect to the page's websocket as soon as it is up, and return its first prediction."""
    origin = {'Origin': f'http://127.0.0.1:{PORT}'}
    async with aiohttp.ClientSession(origin['Origin'], headers=origin) as client:
        while True:
            try:
                async with client.ws_connect('/ws') as page:
                    async for message in page:
                        if message.type is not aiohttp.WSMsgType.TEXT:
                            continue  # a picture
                        content = json.loads(message.data)
                        if content['type'] == 'sight':
                            return content
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)  # the server is not up yet


async def first_prediction(publish):
    """Return what the page shows of the camera's pictures."""
    pictures = asyncio.create_task(camera(publish))
    try:
        return await asyncio.wait_for(page_prediction(), 120)
    finally:
        pictures.cancel()


@pytest.mark.launch(fixture=description)
def test_a_picture_becomes_a_prediction_on_the_page(ros):
    node = rclpy.create_node('camera', context=ros)
    publisher = node.create_publisher(Image, '/camera/image_raw', 10)

    def publish():
        pixels = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
        image = Image(height=48, width=64, step=192, encoding='rgb8', data=pixels.tobytes())
        image.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(image)

    prediction = asyncio.run(first_prediction(publish))
    assert int(prediction['stamp']) > 0
    node.destroy_node()
