# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a prediction has computed of a sample, for the learning after it."""

from __future__ import annotations

from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import RecursiveRidge


class CachedSample:
    """Hidden row, gain and outputs of one sample; a prediction and the learning after it share it.

    Args:
        content: bytes of the sample, by which it is found again.
        hidden: its hidden row.
    """

    __slots__ = ('_gain', '_outputs', 'content', 'hidden')

    def __init__(self, content: bytes, hidden: Array) -> None:
        self.content = content
        self.hidden = hidden
        self._gain: tuple[Array, float] | None = None
        self._outputs: Array | None = None

    def gain(self, ridge: RecursiveRidge) -> tuple[Array, float]:
        """Return M h and the leverage hMh."""
        if self._gain is None:
            self._gain = ridge.gain(self.hidden)
        return self._gain

    def outputs(self, ridge: RecursiveRidge) -> Array:
        """Return the outputs, unnamed label first."""
        if self._outputs is None:
            self._outputs = ridge.outputs(self.hidden)
        return self._outputs

    def forget(self) -> None:
        """Drop gain and outputs before the weights change; the hidden row stays valid."""
        self._gain = self._outputs = None

    def forget_outputs(self) -> None:
        """Drop the outputs when their number changes."""
        self._outputs = None
