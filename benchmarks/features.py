# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of the extractors beside the bare passes over their data, in one run.

python benchmarks/features.py             # the extractors, no ROS needed
python benchmarks/features.py --chain     # also camera image to prediction over DDS
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proemlc_ros.features.extractors.images import linear_light_table
from proemlc_ros.features.extractors.motion import MotionSample
from proemlc_ros.features.extractors.ranges import LaserBeams
from proemlc_ros.features.registry import automatic, make_extractor


def fastest_of(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Run functions in turn and return the least processor time of each, in seconds.

    The minimum holds on a machine that does other work as well.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.process_time()
            function()
            times[name].append(time.process_time() - start)
    return {name: min(values) for name, values in times.items()}


def camera_image() -> np.ndarray:
    """Return a 640x480 rgb8 image with smooth colours and noise."""
    rng = np.random.default_rng(0)
    smooth = cv2.resize(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), (640, 480))
    return np.clip(smooth + rng.integers(-9, 10, smooth.shape), 0, 255).astype(np.uint8)


def colour_moments(rounds: int) -> None:
    """Compare 640x480 to 294 features with the passes that every implementation needs."""
    image, table = camera_image(), linear_light_table()
    extractor = make_extractor('colour_moments')

    def bare_passes() -> None:
        luv = cv2.cvtColor(cv2.LUT(image, table), cv2.COLOR_LRGB2Luv)
        cv2.meanStdDev(luv)

    def float_conversion() -> None:
        luv = cv2.cvtColor(image.astype(np.float32) * np.float32(1 / 255), cv2.COLOR_RGB2Luv)
        cv2.meanStdDev(luv)

    def plain_numpy() -> None:
        luv = cv2.cvtColor(image.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2Luv)
        for rows in np.array_split(luv, 7):
            for block in np.array_split(rows, 7, axis=1):
                block.mean(axis=(0, 1)), block.var(axis=(0, 1))

    found = fastest_of({
        'extractor': lambda: extractor(image), 'bare': bare_passes,
        'float': float_conversion, 'numpy': plain_numpy}, rounds)
    ours = found['extractor']
    print(f'colour moments 640x480 rgb8, 294 values: {ours * 1e3:.2f} ms')
    print(f'  against bare table, LUV and moments passes: {ours / found["bare"]:.2f}x (bar: 2x)')
    print(f'  against the usual float conversion and one pass: {ours / found["float"]:.2f}x')
    print(f'  against block means and variances in NumPy: {ours / found["numpy"]:.2f}x')


def other_extractors(rounds: int) -> None:
    """Print the time of each other extractor on a typical message."""
    rng = np.random.default_rng(1)
    angles = np.linspace(-np.pi, np.pi, 720)
    scan = LaserBeams(angles, 3 + np.sin(3 * angles), 0.1, 10.0)
    cloud = rng.normal(0, 2, (100_000, 3))
    imu = make_extractor('imu_window')
    stamps = iter(range(10**9, 10**15, 5_000_000))  # 200 Hz

    def imu_message() -> None:
        values = dict.fromkeys(imu.channels, 0.5)
        imu(MotionSample(next(stamps), values))

    for _ in range(200):  # fill the window
        imu_message()
    image = camera_image()
    gradients, profile = make_extractor('gradient_histogram'), make_extractor('laser_profile')
    histogram = make_extractor('cloud_histogram')
    found = fastest_of({
        'gradient histogram, 640x480': lambda: gradients(image),
        'laser profile, 720 beams': lambda: profile(scan),
        'cloud histogram, 100,000 points': lambda: histogram(cloud),
        'IMU window, 200 Hz': imu_message,
    }, rounds)
    for name, seconds in found.items():
        print(f'{name}: {seconds * 1e3:.2f} ms')


def looks(rounds: int) -> None:
    """Print the time per picture of deep features with one to three looks, in one batch each."""
    kind, settings, _ = automatic({})
    if kind != 'onnx_embedding':
        print('looks: no network is installed (proemlc backbone install)')
        return
    image = camera_image()
    shares = (1.0, 0.75, 0.55)
    extractors = {count: make_extractor(kind, {**settings, 'looks': shares[:count]})
                  for count in (1, 2, 3)}
    found = fastest_of({f'{count}': partial(extractor, image)
                        for count, extractor in extractors.items()}, rounds)
    for count, seconds in found.items():
        print(f'deep features 640x480, {count} looks, one thread: {seconds * 1e3:.1f} ms, '
              f'{seconds / found["1"]:.2f}x')


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=60)
    parser.add_argument('--threads', type=int, default=1, help='threads of OpenCV')
    parser.add_argument('--chain', action='store_true', help='also image to prediction over DDS')
    arguments = parser.parse_args()
    cv2.setNumThreads(arguments.threads)
    colour_moments(arguments.rounds)
    other_extractors(arguments.rounds)
    looks(arguments.rounds)
    if arguments.chain:
        from feature_chain import measure_chain  # needs ROS 2
        measure_chain(camera_image())


if __name__ == '__main__':
    main()
