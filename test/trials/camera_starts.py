# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts feature nodes beside a running camera, and checks that each of them goes on.

    python test/trials/camera_starts.py --rounds 100 [--kill]

The camera publishes pictures of 0.9 MB reliably, and another subscriber has stopped answering, so
that it has pictures which it must declare irrelevant for whoever comes later. A reader that has
parts of such a picture gets stuck for ever; run it beside busy processes, where that is likely.
With --kill each node is killed before the next one starts: then the camera goes on sending to the
dead one, whose place the next takes. A node that gets stuck must end by itself.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

TOPIC = '/trial/image'
WIDTH, HEIGHT = 640, 480
PARAMETERS = f"""
/**:
  ros__parameters:
    sensors: [camera]
    camera: {{topic: {TOPIC}, extractor: colour_moments}}
"""
# Seconds that a vector may take, more than a node that stands still lasts; for how long it is
# watched.
PATIENCE, WATCHED = 240.0, 3.0


def publish(rate: float, reliability: str) -> None:
    """Be the camera, until the process ends."""
    import rclpy
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import Image
    rclpy.init()
    node = rclpy.create_node('trial_camera')
    publisher = node.create_publisher(Image, TOPIC, QoSProfile(
        depth=5, reliability=ReliabilityPolicy[reliability.upper()]))
    picture = Image(width=WIDTH, height=HEIGHT, encoding='rgb8', step=3 * WIDTH,
                    data=array('B', bytes(3 * WIDTH * HEIGHT)))
    while True:
        picture.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(picture)
        time.sleep(1.0 / rate)


def listen() -> None:
    """Be another subscriber; says when it has a picture."""
    import rclpy
    from sensor_msgs.msg import Image
    rclpy.init()
    node = rclpy.create_node('trial_listener')
    node.create_subscription(Image, TOPIC, lambda message: print('heard', flush=True), 5)
    rclpy.spin(node)


class Watcher:
    """Counts the feature vectors."""

    def __init__(self) -> None:
        import rclpy
        from proemlc_ros.msg import FeatureVector
        from rclpy.executors import SingleThreadedExecutor
        rclpy.init()
        self.newest = 0.0
        node = rclpy.create_node('trial_watcher')
        node.create_subscription(FeatureVector, 'proemlc/features', self._on_vector, 10)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)

    def _on_vector(self, message: object) -> None:
        self.newest = time.monotonic()

    def goes_on(self) -> bool:
        """Return whether a node that was just started makes vectors, and goes on doing so."""
        if not self._another():
            return False
        end = time.monotonic() + WATCHED
        while time.monotonic() < end:
            self._executor.spin_once(0.1)
        return self._another()

    def _another(self) -> bool:
        """Wait for one more vector; return whether it came."""
        now = time.monotonic()
        while self.newest < now:
            if time.monotonic() > now + PATIENCE:
                return False
            self._executor.spin_once(0.1)
        return True


def run(rounds: int, rate: float, kill: bool, folder: Path) -> tuple[int, int]:
    """Run the trial; return how many nodes got stuck, and how many of them ended by themselves."""
    parameters = folder / 'parameters.yaml'
    parameters.write_text(PARAMETERS)
    camera = subprocess.Popen([sys.executable, __file__, '--camera', str(rate)])
    listener = subprocess.Popen([sys.executable, __file__, '--listener'], text=True,
                                stdout=subprocess.PIPE)
    stuck = ended = 0
    try:
        listener.stdout.readline()
        listener.send_signal(signal.SIGSTOP)
        watcher = Watcher()
        for number in range(1, rounds + 1):
            node = subprocess.Popen([sys.executable, '-m', 'proemlc_ros.nodes.feature_node',
                                     '--ros-args', '--params-file', str(parameters)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            going = watcher.goes_on()
            if not going:
                stuck += 1
                ended += node.poll() == -signal.SIGALRM
                print(f'start {number}: stuck; exit code {node.poll()}', flush=True)
            node.send_signal(signal.SIGINT if going and not kill else signal.SIGKILL)
            node.wait()
    finally:
        for process in (listener, camera):
            process.kill()
            process.wait()
    return stuck, ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=20, help='starts of a feature node')
    parser.add_argument('--rate', type=float, default=100.0, help='pictures per second')
    parser.add_argument('--kill', action='store_true', help='end nodes by SIGKILL')
    parser.add_argument('--camera', type=float, help=argparse.SUPPRESS)
    parser.add_argument('--reliability', choices=['reliable', 'best_effort'], default='reliable',
                        help='of the camera')
    parser.add_argument('--listener', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.camera:
        publish(options.camera, options.reliability)
    if options.listener:
        listen()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with tempfile.TemporaryDirectory() as folder:
        stuck, ended = run(options.rounds, options.rate, options.kill, Path(folder))
    print(f'{options.rounds} starts, stuck: {stuck}, of these ended by themselves: {ended}')
    return 0 if ended == stuck else 1


if __name__ == '__main__':
    sys.exit(main())
