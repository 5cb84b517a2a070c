# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Two robots on one busy machine: each page must show its own camera, and the right moment.

    python test/trials/two_robots.py --seconds 60

Each robot has a simulated camera (640x480, raw, 15 Hz), a feature node, a classifier and a page
in a namespace of its own, all in one domain, while one process per core does nothing but count.
Number and robot are painted into each picture, so that the pictures which a page receives prove
themselves. Set a ROS_DOMAIN_ID that nobody else uses.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import aiohttp
import cv2
import numpy as np
import rclpy
from proemlc_ros.srv import Annotate
from rclpy.node import Node
from sensor_msgs.msg import Image

sys.path.insert(0, str(Path(__file__).parents[1]))

from ros_process import DEADLINE, RosProcess

from proemlc_ros.core import ProEMLC

ROBOTS = ('robot1', 'robot2')
WIDTH, HEIGHT, RATE = 640, 480, 15.0
# The number of a picture is painted as black and white fields, the robot as one more.
BITS, FIELD = 15, 40
# Nanoseconds between stamps, so that a stamp tells the number.
PERIOD = round(1e9 / RATE)
START = 1_700_000_000_000_000_000
# Pairs that a page must show, however long that takes on a busy machine.
LEAST = 10
FEATURES = """/**:
  ros__parameters:
    sensors: [camera]
    camera: {topic: camera/image_raw, extractor: colour_moments}
"""


def painted(number: int, robot: int) -> np.ndarray:
    """Return the picture of a number."""
    pixels = np.full((HEIGHT, WIDTH, 3), 128, np.uint8)
    for place in range(BITS + 1):
        value = (number >> place) & 1 if place < BITS else robot
        row, column = divmod(place, WIDTH // FIELD)
        pixels[row * FIELD:(row + 1) * FIELD, column * FIELD:(column + 1) * FIELD] = 255 * value
    return pixels


def read(jpeg: bytes) -> tuple[int, int]:
    """Return number and robot of a picture."""
    pixels = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    bits = []
    for place in range(BITS + 1):
        row, column = divmod(place, WIDTH // FIELD)
        bits.append(int(pixels[row * FIELD + FIELD // 2, column * FIELD + FIELD // 2] > 128))
    return sum(bit << place for place, bit in enumerate(bits[:BITS])), bits[BITS]


class Camera(Node):
    """Publishes pictures as most drivers do: reliably."""

    def __init__(self, robot: int) -> None:
        super().__init__('camera', namespace=ROBOTS[robot])
        self._robot = robot
        self._number = 0
        self._publisher = self.create_publisher(Image, 'camera/image_raw', 5)
        self.create_timer(1 / RATE, self._publish)

    def _publish(self) -> None:
        message = Image(height=HEIGHT, width=WIDTH, step=3 * WIDTH, encoding='rgb8')
        message.data.frombytes(painted(self._number, self._robot).tobytes())
        seconds, nanoseconds = divmod(START + self._number * PERIOD, 10**9)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
        self._publisher.publish(message)
        self._number += 1


async def watch(port: int, robot: int, seconds: float) -> Counter[str]:
    """Look at a page, and count what it shows."""
    origin = f'http://127.0.0.1:{port}'
    counts: Counter[str] = Counter()
    async with aiohttp.ClientSession(origin, headers={'Origin': origin}) as client, \
            client.ws_connect('/ws', max_msg_size=0) as page:
        picture, end = b'', None
        while end is None or time.monotonic() < end or counts['pairs'] < LEAST:
            message = await page.receive(timeout=DEADLINE)
            if message.type is aiohttp.WSMsgType.BINARY:
                picture = message.data
                continue
            content = json.loads(message.data)
            if content['type'] != 'prediction':
                continue
            if end is None:
                if not content['picture']:
                    continue
                end = time.monotonic() + seconds  # From the first whole pair on.
            judge(content, picture, robot, counts)
    return counts


def judge(prediction: dict[str, object], picture: bytes, robot: int,
          counts: Counter[str]) -> None:
    counts['predictions'] += 1
    if not prediction['picture']:
        counts['without a picture'] += 1
        return
    number, seen = read(picture[8:])
    meant = (int(str(prediction['stamp'])) - START) // PERIOD
    counts['of another robot'] += seen != robot
    counts['of another moment'] += number != meant % 2**BITS
    counts['pairs'] += 1


def start_robot(robot: int, folder: Path) -> tuple[list[RosProcess], int]:
    """Start the nodes of a robot; return them and the port of its page."""
    namespace = ['--ros-args', '-r', f'__ns:=/{ROBOTS[robot]}']
    features = folder / 'features.yaml'
    features.write_text(FEATURES)
    nodes = [
        RosProcess([sys.executable, __file__, '--camera', str(robot)], folder),
        RosProcess(['feature_node', *namespace, '--params-file', features], folder),
        RosProcess(['classifier_node', *namespace, '-p',
                    f'model_directory:={folder / ROBOTS[robot]}'], folder),
        RosProcess(['dashboard_node', *namespace, '-p', 'port:=0'], folder)]
    found = nodes[-1].wait_for(r'Dashboard: http://127\.0\.0\.1:(\d+)/')
    return nodes, int(found[1])


def teach(context: rclpy.Context, robot: str) -> None:
    """Teach one of the robots about the newest vector."""
    node = rclpy.create_node('operator', context=context)
    client = node.create_client(Annotate, f'/{robot}/proemlc/annotate')
    assert client.wait_for_service(DEADLINE)
    request = Annotate.Request()
    request.annotation.labels = [f'thing of {robot}']
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    future = client.call_async(request)
    executor.spin_until_future_complete(future, DEADLINE)
    assert future.result().success, future.result().message
    node.destroy_node()


def run(seconds: float, folder: Path, context: rclpy.Context,
        busy: int | None = None) -> list[Counter[str]]:
    """Return what the pages have shown, one count per robot."""
    idle = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
            for _ in range((os.cpu_count() or 1) if busy is None else busy)]
    nodes: list[RosProcess] = []
    try:
        ports = []
        for robot in range(len(ROBOTS)):
            started, port = start_robot(robot, folder)
            nodes += started
            ports.append(port)

        async def both() -> list[Counter[str]]:
            return list(await asyncio.gather(
                *(watch(port, robot, seconds) for robot, port in enumerate(ports))))
        counts = asyncio.run(both())
        teach(context, ROBOTS[0])
        return counts
    finally:
        for process in idle:
            process.kill()
            process.wait()
        for node in reversed(nodes):
            node.__exit__()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--camera', type=int)
    arguments = parser.parse_args()
    context = rclpy.Context()
    if arguments.camera is not None:
        rclpy.init()
        rclpy.spin(Camera(arguments.camera))
        return
    rclpy.init(context=context)
    with tempfile.TemporaryDirectory() as folder:
        for name, counts in zip(ROBOTS, run(arguments.seconds, Path(folder), context),
                                strict=True):
            print(f'{name}: {dict(counts)}', flush=True)
        print('labels:', {name: ProEMLC.load(Path(folder, name, 'snapshot.npz')).labels
                          for name in ROBOTS})
    context.shutdown()


if __name__ == '__main__':
    main()
