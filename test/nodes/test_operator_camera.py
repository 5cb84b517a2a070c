# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page of one robot beside another one: its own camera, in whole pairs, or the reason."""

import asyncio
import json

import cv2
import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Time
from dashboard_stand import DEADLINE
from proemlc_ros.msg import Prediction
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image
from std_msgs.msg import Header

aiohttp = pytest.importorskip('aiohttp')
pytestmark = pytest.mark.slow

BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class Robots:
    """Two cameras, and the predictions of the second robot."""

    def __init__(self, context):
        self.node = rclpy.create_node('robots', context=context)
        # The other robot comes first in the alphabet, and is brighter.
        self.other = self.node.create_publisher(Image, '/robot1/camera/image_raw', 5)
        self.own = self.node.create_publisher(Image, '/robot2/camera/image_raw', 5)
        self.predictions = self.node.create_publisher(Prediction, '/robot2/proemlc/predictions', 5)
        self.sec = 0

    def look(self, source: str, prediction_first: bool = False) -> None:
        self.sec += 1
        header = Header(stamp=Time(sec=self.sec))
        prediction = Prediction(header=header, source_topic=source)
        if prediction_first:
            self.predictions.publish(prediction)
        for publisher, grey in ((self.other, 250), (self.own, 5)):
            publisher.publish(Image(header=header, height=32, width=32, encoding='mono8', step=32,
                                    data=np.full(32 * 32, grey, np.uint8).tobytes()))
        if not prediction_first:
            self.predictions.publish(prediction)


async def page_until(address, robots, source, found, prediction_first=False):
    """Look until the page says something; return all pairs that it has shown until then."""
    pairs, shown = [], b''
    async with aiohttp.ClientSession(address, headers={'Origin': address}) as browser, \
            browser.ws_connect('/ws') as page:
        deadline = asyncio.get_running_loop().time() + DEADLINE
        while asyncio.get_running_loop().time() < deadline:
            robots.look(source, prediction_first)
            while True:
                try:
                    message = await page.receive(timeout=0.05)
                except asyncio.TimeoutError:
                    break
                if message.type is aiohttp.WSMsgType.BINARY:
                    shown = message.data
                    continue
                content = json.loads(message.data)
                if content['type'] == 'prediction':
                    assert int(content['stamp']) == int.from_bytes(shown[:8], 'big')
                    pairs.append(shown[8:])
                if found(content, pairs):
                    return pairs
    raise AssertionError(f'not shown within {DEADLINE} s; {len(pairs)} pairs')


def test_page_follows_the_camera_of_its_own_robot(ros, start_process):
    robots = Robots(ros)
    dashboard = start_process('dashboard_node', '--ros-args', '-r', '__ns:=/robot2', '-p',
                              'port:=0')
    address = dashboard.wait_for(r'Dashboard: (http\S+)/', timeout=DEADLINE)[1]

    def look(source, found, prediction_first=False):
        return asyncio.run(page_until(address, robots, source, found, prediction_first))

    def said(text):
        return lambda content, _: text in content.get('picture', '') if (
            content['type'] == 'health') else False

    def said_beside_no_picture(text):
        # Pairs of the topic before may still come.
        return lambda content, pairs: said(text)(content, pairs) and pairs and not pairs[-1]

    # Features of a node that does not name its camera: the page guesses nothing.
    assert not any(look('', said('do not name the camera')))
    for first in (False, True):
        pairs = look('/robot2/camera/image_raw', lambda _, pairs: sum(map(bool, pairs)) > 9, first)
        grey = [cv2.imdecode(np.frombuffer(jpeg, np.uint8), 0).mean() for jpeg in pairs if jpeg]
        assert max(grey) < 20
    # As reliable as the publisher, since pictures are large.
    (own,) = robots.node.get_subscriptions_info_by_topic('/robot2/camera/image_raw')
    assert own.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert not robots.node.get_subscriptions_info_by_topic('/robot1/camera/image_raw')
    look('/robot2/nothing', said_beside_no_picture("Nobody publishes '/robot2/nothing'"))
    look('/robot2/proemlc/predictions', said_beside_no_picture('no pictures'))
    look('not a name!', said_beside_no_picture('do not name the camera'))
    robots.node.destroy_node()
