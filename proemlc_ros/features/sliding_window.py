# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The samples of the last seconds, ordered by their own stamps."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NANOSECONDS = 1_000_000_000
# A sensor that floods the topic keeps the newest samples only.
MOST_SAMPLES = 20_000


class SlidingWindow:
    """Keeps samples that are at most `seconds` older than the newest one.

    Late samples find their place by stamp. A stamp older than the whole window means that
    time was set back (a looping bag): the window starts again.
    """

    def __init__(self, seconds: float) -> None:
        self._length = round(seconds * NANOSECONDS)
        self._samples: list[tuple[int, int, Sequence[float]]] = []
        self._arrivals = 0

    def add(self, stamp: int, values: Sequence[float]) -> None:
        """Add a sample (all of one length) and let those go that are too old."""
        if self._samples and stamp < self._samples[-1][0] - self._length:
            self.clear()
        # The count of arrivals breaks ties, so that values are never compared.
        insort(self._samples, (stamp, self._arrivals, values))
        self._arrivals += 1
        oldest = self._samples[-1][0] - self._length
        keep = next(i for i, sample in enumerate(self._samples) if sample[0] > oldest)
        del self._samples[:max(keep, len(self._samples) - MOST_SAMPLES)]

    def clear(self) -> None:
        """Forget all samples."""
        self._samples.clear()

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._samples)

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times in seconds before the newest sample (n,) and values (n, channels)."""
        stamps, _, values = zip(*self._samples)
        times = (np.array(stamps) - stamps[-1]) / NANOSECONDS
        return times, np.array(values, np.float64)
