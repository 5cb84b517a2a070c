# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Camera pictures for the page: small JPEGs, by stamp, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class CameraPicture:
    """A JPEG and the stamp of the prediction that it belongs to, in nanoseconds."""

    stamp: int
    jpeg: bytes
    size: tuple[int, int] = (0, 0)
    """Width and height of the picture that it was made of, in pixels; 0: not known."""


def jpeg_of(pixels: NDArray[Any], max_side: int = 640, quality: int = 80) -> bytes:
    """Return pixels as a JPEG that is small enough to send often.

    Args:
        pixels: (rows, columns) or RGB (rows, columns, 3), of 8 or 16 bits.
        max_side: longest side of the result in pixels; larger pictures are scaled down.
        quality: of the JPEG, 1 to 100.
    """
    if pixels.dtype != np.uint8:
        # Depth and thermal cameras use a small part of their 16 bits; show that part.
        pixels = cv2.normalize(pixels, np.empty_like(pixels), 0, 255, cv2.NORM_MINMAX).astype(
            np.uint8)
    scale = max_side / max(pixels.shape[:2])
    if scale < 1:
        size = tuple(max(1, round(side * scale)) for side in pixels.shape[1::-1])
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    if pixels.ndim == 3:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode('.jpg', pixels, (cv2.IMWRITE_JPEG_QUALITY, quality))
    return data.tobytes()


class PictureCache:
    """The pictures of the last seconds, and those that belong to held stamps.

    Args:
        max_count: pictures of the stream that are kept.
        max_held: pictures held at once by all operators; the oldest is dropped first.
    """

    def __init__(self, max_count: int = 100, max_held: int = 200) -> None:
        self._max_count = max_count
        self._max_held = max_held
        self._stream: OrderedDict[int, CameraPicture] = OrderedDict()
        self._held: OrderedDict[int, CameraPicture] = OrderedDict()

    def add(self, picture: CameraPicture) -> None:
        """Add a picture; a second one with the same stamp replaces the first."""
        self._stream.pop(picture.stamp, None)
        self._stream[picture.stamp] = picture
        if len(self._stream) > self._max_count:
            self._stream.popitem(last=False)

    def newest_among(self, stamps: Container[int]) -> CameraPicture | None:
        """Return the picture that came last of those with one of the stamps, or None."""
        return next((picture for picture in reversed(self._stream.values())
                     if picture.stamp in stamps), None)

    def hold(self, stamp: int) -> None:
        """Keep the picture of a stamp."""
        picture = self._stream.get(stamp)
        if picture is not None and stamp not in self._held:
            self.keep(stamp, picture)

    def keep(self, stamp: int, picture: CameraPicture) -> None:
        """Keep a picture that is not of the stream, such as from an earlier run."""
        self._held[stamp] = picture
        if len(self._held) > self._max_held:
            self._held.popitem(last=False)

    def find(self, stamp: int) -> CameraPicture | None:
        """Return the picture of a stamp, held or recent; None: there is none of that moment."""
        return self._held.get(stamp) or self._stream.get(stamp)
