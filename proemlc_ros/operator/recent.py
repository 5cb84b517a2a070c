# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept for answers that come late: recent feature vectors, and pictures as JPEGs."""

from __future__ import annotations

from dataclasses import dataclass

from proemlc_ros.records import StampedVector
from proemlc_ros.stamps import StampBuffer


class RecentVectors(StampBuffer[StampedVector]):
    """The newest feature vectors by stamp, and those that somebody holds.

    An operator who freezes a prediction holds its vector, so that typing may take longer than the
    classifier's own buffer lasts.

    Args:
        max_count: vectors of the stream that are kept.
        max_bytes: of their values, for very wide vectors.
        max_held: vectors held or awaited at once by all operators; the oldest is dropped first.
    """

    def __init__(self, max_count: int = 600, max_bytes: int = 64_000_000,
                 max_held: int = 200) -> None:
        super().__init__(max_count, max_bytes, max_held)

    def add(self, vector: StampedVector) -> None:
        """Add a vector; a second one with the same stamp replaces the first."""
        self.put(vector.stamp, vector, vector.data.nbytes)


@dataclass(frozen=True, slots=True)
class CameraPicture:
    """A JPEG and the stamp of the prediction that it belongs to, in nanoseconds."""

    stamp: int
    jpeg: bytes
    size: tuple[int, int] = (0, 0)
    """Width and height of the picture that it was made of, in pixels; 0: not known."""


class PictureCache(StampBuffer[CameraPicture]):
    """The pictures of the last seconds, and those that belong to held stamps.

    Args:
        max_count: pictures of the stream that are kept.
        max_held: pictures held at once by all operators; the oldest is dropped first.
    """

    def __init__(self, max_count: int = 100, max_held: int = 200) -> None:
        super().__init__(max_count, max_held=max_held)

    def add(self, picture: CameraPicture) -> None:
        """Add a picture; a second one with the same stamp replaces the first."""
        self.put(picture.stamp, picture)
