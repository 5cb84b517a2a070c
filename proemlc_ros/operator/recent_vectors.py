# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The moments of the last seconds, so that an answer about one carries what was sensed then."""

from __future__ import annotations

from collections import OrderedDict

from proemlc_ros.classifier.records import StampedVector


class RecentVectors:
    """Feature vectors by stamp: the newest of them, and those that somebody holds.

    An operator who freezes a moment holds it; it then outlives the flow of new ones, so that
    typing may take longer than the classifier's own buffer lasts.

    Args:
        max_count: moments kept in the flow.
        max_bytes: of their values, for very wide vectors.
        max_held: moments held at once by all operators; the oldest is let go first.
    """

    def __init__(self, max_count: int = 600, max_bytes: int = 64_000_000,
                 max_held: int = 200) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._max_held = max_held
        self._flow: OrderedDict[int, StampedVector] = OrderedDict()
        self._held: OrderedDict[int, StampedVector] = OrderedDict()
        self._bytes = 0

    def add(self, moment: StampedVector) -> None:
        """Take in a moment; a second one with the same stamp takes the place of the first."""
        old = self._flow.pop(moment.stamp, None)
        if old is not None:
            self._bytes -= old.data.nbytes
        self._flow[moment.stamp] = moment
        self._bytes += moment.data.nbytes
        while len(self._flow) > self._max_count or self._bytes > self._max_bytes:
            _, gone = self._flow.popitem(last=False)
            self._bytes -= gone.data.nbytes

    def hold(self, stamp: int, moment: StampedVector | None = None) -> bool:
        """Keep a moment for an answer; tell whether its features are known.

        Args:
            stamp: of the moment.
            moment: the moment itself where the caller has it, such as from a query.
        """
        found = moment or self.find(stamp)
        if found is None:
            return False
        self._held.pop(stamp, None)
        self._held[stamp] = found
        if len(self._held) > self._max_held:
            self._held.popitem(last=False)
        return True

    def find(self, stamp: int) -> StampedVector | None:
        """Return the moment of a stamp, or None where it is no longer kept."""
        return self._held.get(stamp) or self._flow.get(stamp)
