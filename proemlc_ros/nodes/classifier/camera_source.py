# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a camera, made small for the journal."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import CompressedImage, Image

from proemlc_ros.features.sensor_arrays import sample_of
from proemlc_ros.operator.pictures import jpeg_of
from proemlc_ros.records import Picture, Region
from proemlc_ros.stamps import stamp_of

TYPES: dict[str, type] = {
    'sensor_msgs/msg/Image': Image, 'sensor_msgs/msg/CompressedImage': CompressedImage}
_JPEG = b'\xff\xd8\xff'


class CameraSource:
    """An image message that can be made small.

    Args:
        message: Image or CompressedImage.
        kind: its type.
        size: longest side of the small picture, pixels.
        quality: of its JPEG, 1 to 100.
    """

    def __init__(self, message: Any, kind: str, size: int, quality: int) -> None:
        self.nbytes = len(message.data)
        self._message = message
        self._kind = kind
        self._size = size
        self._quality = quality

    def picture(self, region: Region) -> Picture:
        """Return it, or a region of it, small and compressed.

        Raises:
            BadSensorDataError: the message is broken.
        """
        pixels = sample_of(self._message, self._kind)
        stamp = stamp_of(self._message.header)
        whole = not (region.size_x > 0 and region.size_y > 0)
        if whole and max(pixels.shape[:2]) <= self._size and self._kind.endswith('Compressed'
                                                                                 'Image'):
            data = bytes(self._message.data)
            # Once compressed is better than twice; but anything may be hidden in comments.
            if data.startswith(_JPEG) and len(data) <= pixels.nbytes:
                return Picture(stamp, 'jpeg', data)
        if not whole:
            pixels = cut(pixels, region)
        return Picture(stamp, 'jpeg', jpeg_of(pixels, self._size, self._quality))


def cut(pixels: Any, region: Region) -> Any:
    """Return the part of a picture that a region covers; at least one pixel."""
    height, width = pixels.shape[:2]
    left, right = _span(region.center_x, region.size_x, width)
    upper, lower = _span(region.center_y, region.size_y, height)
    return pixels[upper:lower, left:right]


def _span(center: float, size: float, end: int) -> tuple[int, int]:
    first = min(max(round(center - size / 2), 0), end - 1)
    return first, min(max(round(center + size / 2), first + 1), end)
