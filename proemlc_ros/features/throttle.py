# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Says something once in a while, and how often it was held back."""

from __future__ import annotations


class Throttle:
    """Lets the same thing be said at most once a period; different things do not wait."""

    def __init__(self, period: float) -> None:
        """Take the period in seconds."""
        self._period = round(period * 1_000_000_000)
        self._last: dict[object, int] = {}
        self._held_back: dict[object, int] = {}

    def due(self, key: object, now: int) -> int | None:
        """Return how often `key` was held back since it was last said, or None: not now.

        Args:
            key: what is to be said; few different ones, such as causes.
            now: nanoseconds on a clock that never goes back.

        """
        last = self._last.get(key)
        if last is not None and now - last < self._period:
            self._held_back[key] = self._held_back.get(key, 0) + 1
            return None
        self._last[key] = now
        return self._held_back.pop(key, 0)
