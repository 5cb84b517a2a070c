# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a network for the first time: in a process of its own, with limits on memory and time.

A file that asks for all the memory there is, never ends, or brings the library down takes that
process with it and nothing else.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from proemlc_ros.errors import BackboneError, ProEMLCError

_MEMORY = 4 << 30
_SECONDS = 120
_MOST_VALUES = 100_000  # as many as the classifier takes unless told otherwise
_REPEATS = 15


@dataclass(frozen=True)
class NetworkSpeed:
    """What a network gave: size of its output, and its speed on this machine.

    Args:
        width: values per image.
        engine: library that ran it.
        network_ms: the network alone for one image with all of its looks, one thread.
        image_ms: a picture of 640 x 480 with resizing, one thread.
        images_per_second: many pictures at once, on all processors.
    """

    width: int
    engine: str
    network_ms: float
    image_ms: float
    images_per_second: float


def check_network(path: Path, parameters: Mapping[str, Any]) -> NetworkSpeed:
    """Run a network on test pictures and return what it gave.

    Args:
        path: of the ONNX file.
        parameters: of the extractor onnx_embedding, except `model`.

    Raises:
        BackboneError: it does not run, or what it gives is no use as features.
    """
    command = [sys.executable, '-m', 'proemlc_ros.features.backbone.network_check', str(path),
               json.dumps(dict(parameters))]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise BackboneError(f'{path} ran for more than {_SECONDS} s; it is not usable') from error
    lines = result.stdout.strip().splitlines()
    answer = json.loads(lines[-1]) if lines and lines[-1].startswith('{') else {}
    if 'width' not in answer:
        reason = answer.get('error') or (
            f'the process that tried it ended with code {result.returncode}, perhaps at its limit '
            f'of {_MEMORY >> 30} GB of memory')
        raise BackboneError(f'{path} is refused: {reason}')
    return NetworkSpeed(**answer)


def _checked(path: str, parameters: Mapping[str, Any]) -> NetworkSpeed:
    """Do what check_network promises, in this process.

    Raises:
        ProEMLCError: as above.
    """
    import cv2

    from proemlc_ros.features.registry import make_extractor
    cv2.setNumThreads(1)
    given = {**parameters, 'model': path}
    extractor: Any = make_extractor('onnx_embedding', given)
    # What is joined to the output must not hide that the network itself is no use.
    network: Any = make_extractor('onnx_embedding', {**given, 'colours': 0.0})
    if extractor.width > _MOST_VALUES:
        raise BackboneError(f'it gives {extractor.width} values; the limit is {_MOST_VALUES}')
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (480, 640, 3), np.uint8) // divisor
                for divisor in (1, 2, 4, 8)]
    vectors = np.array([network(picture) for picture in pictures])
    if np.ptp(vectors, axis=0).max() < 1e-6:
        raise BackboneError('it gives the same values for every picture')
    together = np.array(network.extract_many(pictures))
    if np.abs(together - vectors).max() > 1e-3 * np.abs(vectors).max():
        raise BackboneError('it gives other values for several pictures than for each alone')
    prepared = extractor.prepared(pictures[0])
    batch, = durations(3, lambda: extractor.extract_many(pictures * 4))
    network_alone, whole = durations(
        _REPEATS, lambda: extractor.finished(prepared), lambda: extractor(pictures[0]))
    return NetworkSpeed(extractor.width, extractor.engine_name, 1e3 * network_alone, 1e3 * whole,
                        4 * len(pictures) / batch)


def durations(times: int, *functions: Callable[[], object]) -> list[float]:
    """Return the median duration of each call in seconds.

    They take turns, so that other work on the machine slows all of them alike.
    """
    found: list[list[float]] = [[] for _ in functions]
    for _ in range(times):
        for function, seconds in zip(functions, found):
            began = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - began)
    return [median(seconds) for seconds in found]


def main(words: list[str]) -> int:
    """Print the result of one check, or why there is none, as JSON."""
    path, parameters = words
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        print(json.dumps(asdict(_checked(path, json.loads(parameters)))))
    except (ProEMLCError, MemoryError) as error:
        print(json.dumps({'error': ' '.join(str(error).split()) or 'out of memory'}))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
