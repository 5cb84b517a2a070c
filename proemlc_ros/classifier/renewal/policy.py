# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When a renewal is worth while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MODES = ('automatic', 'manual', 'off')
# Growth of the number of samples behind which novel samples call for a renewal, and one that was
# given up is tried again.
_SMALL_GROWTH = 1.25
# Recent annotations, and the novelty that most of them must have had.
_RECENT, _NOVEL = 20, 0.8


@dataclass
class RenewalPolicy:
    """Decides when to renew.

    A renewal is due when the samples have grown so much that they may call for other settings,
    and earlier when new samples stay novel: the hidden layer does not know them.

    Args:
        mode: 'automatic', 'manual' (when asked to) or 'off'.
        first: samples at the first renewal.
        growth: of the number of samples from one renewal to the next.
    """

    mode: str = 'automatic'
    first: int = 30
    growth: float = 2.0

    def __post_init__(self) -> None:
        """Begin without any renewal."""
        self.last = 0

    def next_at(self) -> int:
        """Return the number of samples at which the next renewal is due."""
        return max(self.first, round(self.growth * self.last))

    def postpone(self) -> None:
        """Take note that the last renewal was given up: a small growth calls for the next."""
        self.last = round(self.last * _SMALL_GROWTH / self.growth)

    def is_due(self, samples: int, novelties: Sequence[float] = (), labels: int = 2) -> bool:
        """Tell whether to renew a model now.

        Args:
            samples: that it has learnt.
            novelties: of the last annotated samples, before they were learnt.
            labels: that it knows; of one alone no layer can be told from another.
        """
        self.last = min(self.last, samples)  # It may have been reset.
        if self.mode != 'automatic' or samples < self.first or labels < 2:
            return False
        if samples >= self.next_at():
            return True
        return (samples >= _SMALL_GROWTH * self.last and len(novelties) >= _RECENT
                and float(np.median(novelties)) >= _NOVEL)
