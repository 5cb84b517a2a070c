# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""
Camera to prediction over DDS with deep features, beside the bare network on one core.

Run:  ./proemlc run python benchmarks/deep_chain.py [--rounds N]

The installed network (proemlc backbone install) runs on one thread: alone, in a loop on a picture
that is ready for it; and in the feature node, whose vectors a taught classifier node predicts,
with three pictures on their way: one in the network, one prepared, one coming. Both in turns, so
that the load of the machine meets both alike. The processor time does not depend on that load.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import rclpy
from feature_chain import Camera, processor_time
from features import camera_image

from proemlc_ros.classifier.profiles import profile_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.demo.processes import Processes, own_domain
from proemlc_ros.features.extractors.onnx_embedding import OnnxEmbedding
from proemlc_ros.features.registry import automatic, make_extractor

PARAMETERS = """
/**:
  ros__parameters:
    sensors: [camera]
    camera: {topic: bench/image, extractor: auto, reliability: reliable}
"""
SAMPLES, LABELS = 1000, 20
IN_FLIGHT = 3


def main() -> int:
    """Print rates, their ratio, and processor time per picture."""
    parser = argparse.ArgumentParser(description='Deep features over DDS.')
    parser.add_argument('--rounds', type=int, default=5, metavar='N')
    parser.add_argument('--seconds', type=float, default=8.0, metavar='S', help='of each round')
    args = parser.parse_args()
    kind, settings, _ = automatic({})
    if kind != 'onnx_embedding':
        print('no network is installed: proemlc backbone install', file=sys.stderr)
        return 1
    extractor = make_extractor(kind, settings)
    assert isinstance(extractor, OnnxEmbedding)
    pixels = camera_image()
    tensor = extractor.prepared(pixels).tensor
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    bare, chain = [], []
    with own_domain(), taught_chain(extractor) as pids:
        rclpy.init()
        camera = Camera(pixels)
        wait_for_answers(camera)
        for _ in range(args.rounds):
            bare.append(bare_rate(extractor, tensor, args.seconds))
            chain.append(chain_rate(camera, pids, args.seconds))
    report(np.median(bare, axis=0), np.median(chain, axis=0))
    rclpy.try_shutdown()
    return 0


def wait_for_answers(camera: Camera, seconds: float = 180.0) -> None:
    """Wait until the nodes have found each other and answer."""
    deadline = time.monotonic() + seconds
    while sum(camera.send_window(IN_FLIGHT) for _ in range(5)) < 5:
        if time.monotonic() > deadline:
            raise SystemExit('the chain does not answer; is another node using its names?')


@contextmanager
def taught_chain(extractor: OnnxEmbedding) -> Iterator[dict[str, int]]:
    """Run the feature node and a classifier node that was taught; yield their processes."""
    random = np.random.default_rng(0)
    model = ProEMLC(**profile_of(extractor.name))
    X = np.abs(random.normal(size=(SAMPLES, extractor.width)))
    model.learn(X, [[f'label {number % LABELS}'] for number in range(SAMPLES)])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, 'model').mkdir()
        model.save(Path(folder, 'model', 'taught.npz'), {'extractor': extractor.name})
        parameters = Path(folder, 'parameters.yaml')
        parameters.write_text(PARAMETERS)
        with Processes(Path(folder)) as processes:
            processes.start('feature_node', '--ros-args', '--params-file', parameters)
            processes.start('classifier_node', '--ros-args', '-p',
                            f'model_directory:={folder}/model', '-p', 'model_file:=taught.npz')
            yield processes.pids


def bare_rate(extractor: OnnxEmbedding, tensor: np.ndarray, seconds: float) -> list[float]:
    """Return pictures per second of the network alone, and its processor time per picture."""
    count, start, used = 0, time.perf_counter(), time.process_time()
    while (took := time.perf_counter() - start) < seconds:
        extractor.network.run(tensor)
        count += 1
    return [count / took, (time.process_time() - used) / count]


def chain_rate(camera: Camera, pids: dict[str, int], seconds: float) -> list[float]:
    """Return pictures per second of the chain, and the processor time per picture of its nodes."""
    for _ in range(10):
        camera.send_window(IN_FLIGHT)  # the way is filled
    before = [processor_time(pids[name]) for name in ('feature_node', 'classifier_node')]
    count, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        count += camera.send_window(IN_FLIGHT)
    after = [processor_time(pids[name]) for name in ('feature_node', 'classifier_node')]
    return [count / took, *((late - early) / max(count, 1)
                            for late, early in zip(after, before, strict=True))]


def report(bare: np.ndarray, chain: np.ndarray) -> None:
    """Print the medians of all rounds."""
    print(f'bare network, one thread: {bare[0]:.1f} pictures/s, {1e3 * bare[1]:.1f} ms of '
          'processor time per picture')
    print(f'camera to prediction over DDS: {chain[0]:.1f} pictures/s, '
          f'ratio {chain[0] / bare[0]:.2f}')
    print(f'  processor time per picture: feature node {1e3 * chain[1]:.1f} ms (bare network / '
          f'feature node {bare[1] / chain[1]:.2f}), classifier node {1e3 * chain[2]:.1f} ms')


if __name__ == '__main__':
    sys.exit(main())
