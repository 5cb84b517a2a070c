# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recursive ridge regression that forgets: old samples weigh less and less."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import RecursiveRidge

_SCALE_LIMIT = 2.0 ** 64

_Ridge = TypeVar('_Ridge', bound='ForgettingRidge')


class ForgettingRidge(RecursiveRidge):
    """Weighs a sample that is k samples old by forgetting^k.

    Plain exponential forgetting forgets the ridge as well, and M then grows without bounds where
    nothing new is seen. So with each sample one entry of the ridge, in turn, is topped up by what
    all entries lost together; `prior` is the ridge that is left, entry by entry:
    M = (sum of forgetting^k h h^T + diag(prior))^-1.
    """

    forgets = True

    def __init__(self, size: int, ridge: float, dtype: str, forgetting: float) -> None:
        """Start with M = I / ridge."""
        super().__init__(size, ridge, dtype)
        self.forgetting = forgetting
        self.prior: Array = np.full(size, float(ridge))
        self._top_up = (1.0 - forgetting) * ridge * size
        self.steps = 0

    def update(self, gain: Array, leverage: float, residual: Array) -> None:
        """Learn one row, after all others have lost a little weight."""
        self._change(gain, 1.0 / (self.forgetting + leverage), residual)
        self.age()

    def age(self) -> None:
        """Let all rows lose a little weight, and top the ridge up."""
        self.scale /= self.forgetting
        self.prior *= self.forgetting
        row, place = self._top_up_row()
        gain, leverage = self.gain(row)
        self._change(gain, 1.0 / (1.0 + max(leverage, 0.0)), -row[place] * self.beta[place])
        self.prior[place] += self._top_up
        self.steps += 1
        if self.scale > _SCALE_LIMIT:
            self.settle()
            # A power of two, so that no digit is lost.
            self.matrix *= _SCALE_LIMIT
            self.scale /= _SCALE_LIMIT

    def rewind(self) -> None:
        """Take the last top-up back, before the row that came with it is taken back."""
        self.steps -= 1
        row, place = self._top_up_row()
        gain, leverage = self.gain(row)
        super().downdate(gain, leverage, -row[place] * self.beta[place])
        self.prior[place] -= self._top_up

    def downdate(self, gain: Array, leverage: float, residual: Array) -> None:
        """Take the last learnt row back; the others regain their weight."""
        super().downdate(gain, leverage, residual)
        self.regain()

    def regain(self) -> None:
        """Give all rows the weight back that the last one cost them."""
        self.scale *= self.forgetting
        self.prior /= self.forgetting

    def _smallest_prior(self) -> float:
        return float(self.prior.min())

    def copy(self: _Ridge) -> _Ridge:
        """Return an independent copy."""
        twin = super().copy()
        twin.prior = self.prior.copy()
        return twin

    def _top_up_row(self) -> tuple[Array, int]:
        """Return a made-up row that adds to one entry of the ridge, and which entry."""
        place = self.steps % self.size
        row = np.zeros(self.size, dtype=self.dtype)
        row[place] = math.sqrt(self._top_up)
        return row, place


def make_ridge(size: int, ridge: float, dtype: str, forgetting: float) -> RecursiveRidge:
    """Return a recursion with nothing learnt; forgetting: 1: never."""
    if forgetting < 1.0:
        return ForgettingRidge(size, ridge, dtype, forgetting)
    return RecursiveRidge(size, ridge, dtype)
