# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How many annotations keep their picture, with a camera that publishes raw 640 x 480.

    python test/trials/kept_pictures.py --annotations 200

Camera, feature node and classifier are processes of their own. Each case annotates predictions a
while after they came, as a person does. What is missing must be counted in diagnostics. Set a
ROS_DOMAIN_ID that nobody else uses.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from camera_starts import PARAMETERS
from ros_process import DEADLINE, RosProcess

CASES = [(rate, reliability)
         for rate in (10.0, 30.0) for reliability in ('reliable', 'best_effort')]
# Seconds from a prediction to its annotation, and between annotations.
DELAY, PERIOD = 0.5, 0.2
COUNTED = 'Annotations without a picture'


class Annotator:
    """Annotates predictions, and asks what was kept.

    Args:
        context: of rclpy.
    """

    def __init__(self, context: Any) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from proemlc_ros.msg import Prediction
        from proemlc_ros.srv import Annotate, ListSamples
        from rclpy.executors import SingleThreadedExecutor
        self.seen: list[tuple[float, Any]] = []
        self.counted = -1
        self.predictions = 0
        self._node = rclpy.create_node('trial_annotator', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._node.create_subscription(Prediction, '/proemlc/predictions', self._on_prediction, 10)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self._clients = {
            kind: self._node.create_client(kind, f'/proemlc/{name}')
            for kind, name in ((Annotate, 'annotate'), (ListSamples, 'list_samples'))}

    def _on_prediction(self, message: Any) -> None:
        self.predictions += 1
        self.seen = [*self.seen[-100:], (time.monotonic(), message.header.stamp)]

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            for pair in status.values:
                if pair.key == COUNTED:
                    self.counted = int(pair.value)

    def spin_until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, 'nothing came'
            self._executor.spin_once(0.02)

    def call(self, request: Any) -> Any:
        kind = next(kind for kind in self._clients if isinstance(request, kind.Request))
        assert self._clients[kind].wait_for_service(DEADLINE)
        future = self._clients[kind].call_async(request)
        self.spin_until(future.done)
        return future.result()

    def annotate(self, number: int) -> None:
        """Annotate the newest prediction that is old enough; it is forgotten then."""
        from proemlc_ros.srv import Annotate
        ready: list[Any] = []

        def find() -> bool:
            ready[:] = [stamp for came, stamp in self.seen if time.monotonic() - came > DELAY]
            return bool(ready)
        self.spin_until(find)
        self.seen = [one for one in self.seen if one[1] != ready[-1]]
        request = Annotate.Request()
        request.annotation.header.stamp = ready[-1]
        request.annotation.labels = [f'label {number % 3}']
        answer = self.call(request)
        assert answer.success, answer.message
        until = time.monotonic() + PERIOD
        self.spin_until(lambda: time.monotonic() > until)

    def kept(self) -> tuple[int, int]:
        """Return how many samples have a picture, and how many there are."""
        from proemlc_ros.srv import ListSamples
        samples: list[Any] = []
        total = 1
        while len(samples) < total:
            answer = self.call(ListSamples.Request(offset=len(samples), limit=100))
            samples += answer.samples
            total = answer.total
        return sum(sample.has_picture for sample in samples), len(samples)

    def close(self) -> None:
        self._executor.shutdown()


def run(rate: float, reliability: str, annotations: int, folder: Path) -> str:
    """Run one case; return one line for people."""
    import rclpy
    parameters = folder / 'parameters.yaml'
    parameters.write_text(PARAMETERS.replace('colour_moments', 'colour_histogram'))
    context = rclpy.Context()
    context.init()
    with RosProcess(('classifier_node', '--ros-args', '-p', f'model_directory:={folder}/model',
                     '-p', 'renewal:=off'), folder), \
            RosProcess(('feature_node', '--ros-args', '--params-file', parameters, '-r',
                        '__node:=features'), folder), \
            RosProcess(('python', Path(__file__).with_name('camera_starts.py'), '--camera', rate,
                        '--reliability', reliability), folder):
        annotator = Annotator(context)
        try:
            annotator.spin_until(lambda: annotator.predictions >= 3 * rate)
            begun, before = time.monotonic(), annotator.predictions
            for number in range(annotations):
                annotator.annotate(number)
            seen = (annotator.predictions - before) / (time.monotonic() - begun)
            kept, samples = annotator.kept()
            # Diagnostics come once a second; a late picture is written meanwhile.
            annotator.spin_until(lambda: annotator.counted == samples - annotator.kept()[0])
            kept, samples = annotator.kept()
        finally:
            annotator.close()
            context.try_shutdown()
    assert samples == annotations, (samples, annotations)
    return (f'{rate:g} Hz, {reliability.replace("_", " ")}: {kept} of {samples} annotations have '
            f'their picture ({kept / samples:.1%}), {annotator.counted} counted as missing; '
            f'{seen:.1f} predictions a second')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--annotations', type=int, default=200, help='of each case')
    arguments = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    for rate, reliability in CASES:
        with tempfile.TemporaryDirectory() as folder:
            print(run(rate, reliability, arguments.annotations, Path(folder)), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
