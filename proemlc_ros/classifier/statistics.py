# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Counts, rates and latencies of a running classifier, in bounded memory."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

import numpy as np


class RateMeter:
    """Events per second, between two readings."""

    def __init__(self) -> None:
        self.total = 0
        self._read_total = 0
        self._read_time: int | None = None
        self._lock = threading.Lock()

    def count(self) -> None:
        """Count one event; from any thread."""
        with self._lock:
            self.total += 1

    def read(self, now: int) -> float:
        """Return the events per second since the last reading.

        Args:
            now: nanoseconds on a clock that does not stop.
        """
        elapsed = 0 if self._read_time is None else now - self._read_time
        events = self.total - self._read_total
        self._read_time, self._read_total = now, self.total
        return events * 1e9 / elapsed if elapsed > 0 else 0.0


class LatencyWindow:
    """Percentiles of the most recent durations.

    Args:
        size: durations kept.
    """

    def __init__(self, size: int = 1000) -> None:
        self._durations: deque[int] = deque(maxlen=size)

    def add(self, nanoseconds: int) -> None:
        """Keep a duration."""
        self._durations.append(nanoseconds)

    def percentiles(self, which: Iterable[float] = (50, 95)) -> list[float]:
        """Return percentiles in milliseconds; NaN without any duration."""
        which = list(which)
        if not self._durations:
            return [float('nan')] * len(which)
        percentiles = np.percentile(list(self._durations), which) * 1e-6
        return [float(value) for value in percentiles]


class Statistics:
    """Everything that the diagnostics say about the messages that passed."""

    def __init__(self) -> None:
        self.features = RateMeter()
        self.predictions = RateMeter()
        self.annotations = RateMeter()
        # Requests that came again and got the first answer.
        self.repeated = RateMeter()
        self.latency = LatencyWindow()
        self._rejects: Counter[str] = Counter()
        # Told by DDS: published, but never received.
        self.lost_annotations = 0
        self.queries = 0
        self.clock_jumps = 0
        self._lock = threading.Lock()

    def count_prediction(self, nanoseconds: int) -> None:
        """Count a prediction and how long it took."""
        self.predictions.count()
        self.latency.add(nanoseconds)

    def reject(self, cause: str) -> None:
        """Count a rejected message by its cause."""
        with self._lock:
            self._rejects[cause] += 1

    def rejected(self) -> dict[str, int]:
        """Return how many messages were rejected, by cause."""
        with self._lock:
            return dict(self._rejects)


class Silence:
    """Tells for how long a counter has stood still.

    Args:
        clock: returns seconds on a steady clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0
        self._since = clock()

    def seconds(self, total: int) -> float:
        """Return the seconds since the counter grew, as far as the calls can tell."""
        now = self._clock()
        if total != self._total:
            self._total, self._since = total, now
        return now - self._since
