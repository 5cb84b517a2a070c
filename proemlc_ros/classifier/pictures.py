# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the last seconds by stamp, so that an annotation can be kept with what it shows.

An annotation never waits for its picture. Where the picture comes later, it is written then.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from proemlc_ros.records import WHOLE, Annotation, Picture, Region

if TYPE_CHECKING:
    from proemlc_ros.classifier.durable_model import DurableModel

# Nanoseconds by which the stamps of a picture and of a feature vector made from it may differ.
_TOLERANCE = 5_000_000
# Annotations that may wait for their pictures.
_MOST_EXPECTED = 200
# Pictures of each kind that are kept, however few bytes they have.
_MOST_KEPT = 1000


class CameraPictureSource(Protocol):
    """A picture as it came from the camera."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes."""

    def picture(self, region: Region) -> Picture | None:
        """Return it, or a region of it, small and compressed; None where it is broken."""


class ExpectedPicture(NamedTuple):
    """An annotation that was learnt without its picture: entry number and region."""

    number: int
    region: Region


class PictureBuffer:
    """The newest pictures as they came, older ones small; in bounded memory.

    Args:
        max_bytes: for both together.
        on_error: called with failures, in words.
    """

    def __init__(self, max_bytes: int = 64_000_000,
                 on_error: Callable[[str], None] = lambda text: None) -> None:
        self.max_bytes = max_bytes
        self.active = False
        self._on_error = on_error
        self._fresh: OrderedDict[int, CameraPictureSource] = OrderedDict()
        self._small: OrderedDict[int, Picture] = OrderedDict()
        self._expected: OrderedDict[int, list[ExpectedPicture]] = OrderedDict()
        # Annotations without a picture that are just being written.
        self._missed: set[Annotation] = set()
        self._fresh_bytes = self._small_bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._fresh) + len(self._small)

    def add(self, stamp: int, source: CameraPictureSource) -> list[tuple[int, Picture]]:
        """Keep a picture.

        Returns:
            Number of each annotation that waited for it, with its picture.
        """
        with self._lock:
            self._drop(stamp)
            self._fresh[stamp] = source
            self._fresh_bytes += source.nbytes
            expected = self._expected.pop(stamp, [])
            old = []
            while (self._fresh_bytes > self.max_bytes // 2 and len(self._fresh) > 1
                   or len(self._fresh) > _MOST_KEPT):
                old.append(self._fresh.popitem(last=False))
                self._fresh_bytes -= old[-1][1].nbytes
        for old_stamp, old_source in old:  # Outside the lock: it takes a millisecond.
            self._keep_small(old_stamp, old_source)
        found = ((item.number, self._made(source, item.region)) for item in expected)
        return [(number, picture) for number, picture in found if picture is not None]

    def find(self, annotation: Annotation) -> Picture | None:
        """Return the picture that an annotation is about; None where it is not there."""
        if not self.active:
            return None
        with self._lock:
            stamp = self._nearest(annotation.stamp)
            source = self._fresh.get(stamp)
            # The whole picture is better than none where the region is not to be had any more.
            small = self._small.get(stamp)
        found = self._made(source, annotation.region) if source is not None else small
        if found is None:
            if len(self._missed) > _MOST_EXPECTED:
                self._missed.clear()  # They were never written: the disk failed.
            self._missed.add(annotation)
        return found

    def settle(self, number: int, annotation: Annotation) -> None:
        """Take note of the entry of an annotation; where its picture is missing, it may follow."""
        if annotation in self._missed:
            self._missed.discard(annotation)
            with self._lock:
                waiting = self._expected.setdefault(annotation.stamp, [])
                waiting.append(ExpectedPicture(number, annotation.region))
                del waiting[:-_MOST_EXPECTED]
                while len(self._expected) > _MOST_EXPECTED:
                    self._expected.popitem(last=False)

    def clear(self) -> None:
        """Forget all pictures."""
        with self._lock:
            self._fresh.clear()
            self._small.clear()
            self._expected.clear()
            self._fresh_bytes = self._small_bytes = 0

    def _keep_small(self, stamp: int, source: CameraPictureSource) -> None:
        picture = self._made(source, WHOLE)
        if picture is None:
            return
        with self._lock:
            self._small[stamp] = picture
            self._small_bytes += len(picture.data)
            while self._small_bytes > self.max_bytes // 2 or len(self._small) > _MOST_KEPT:
                self._small_bytes -= len(self._small.popitem(last=False)[1].data)

    def _made(self, source: CameraPictureSource, region: Region) -> Picture | None:
        try:
            return source.picture(region)
        except Exception as error:  # An annotation is not refused for its picture.
            self._on_error(f'a picture cannot be kept: {error}')
            return None

    def _nearest(self, stamp: int) -> int:
        if stamp in self._fresh or stamp in self._small:
            return stamp
        near = min((*self._fresh, *self._small), key=lambda other: abs(other - stamp), default=0)
        return near if abs(near - stamp) <= _TOLERANCE else stamp

    def _drop(self, stamp: int) -> None:
        if stamp in self._fresh:
            self._fresh_bytes -= self._fresh.pop(stamp).nbytes
        if stamp in self._small:
            self._small_bytes -= len(self._small.pop(stamp).data)


def keep_late_picture(durable: DurableModel, number: int, picture: Picture) -> None:
    """Write the picture of an annotation that was learnt before it came.

    Raises:
        JournalError: it is not kept.
    """
    with durable.lock:
        entry = durable.journal.append_late_picture(number, picture)
        if durable.position == entry - 1:
            durable.position = entry  # It changes nothing that a snapshot would lack.
