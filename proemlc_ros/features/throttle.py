# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Lets through at most so many messages a second, judged by their stamps."""

from __future__ import annotations

NANOSECONDS = 1_000_000_000
# A stamp this much earlier than the last one is a clock set back, not disorder.
SET_BACK = NANOSECONDS


class Throttle:
    """Keeps the mean rate at the limit: 30 Hz limited to 20 gives 20, not 15."""

    def __init__(self, max_rate: float) -> None:
        """Take the limit in messages a second; 0: no limit."""
        self._period = round(NANOSECONDS / max_rate) if max_rate > 0 else 0
        # Stamps jitter; a message a little early must not wait for the next one.
        self._allowance = self._period // 20
        self._due: int | None = None

    def allows(self, stamp: int) -> bool:
        """Tell whether the message of this stamp (nanoseconds) may pass, and count it."""
        if self._period == 0:
            return True
        set_back = self._due is not None and stamp < self._due - self._period - SET_BACK
        if self._due is None or set_back:
            self._due = stamp
        if stamp < self._due - self._allowance:
            return False
        # What was missed in a pause is not made up for; half a period apart is the least.
        self._due = max(self._due + self._period, stamp + self._period // 2)
        return True
