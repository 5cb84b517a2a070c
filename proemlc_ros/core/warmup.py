# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The first samples, kept while the hidden layer still depends on them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from proemlc_ros.core.labels import Annotation
from proemlc_ros.core.rows import Rows


class WarmUp:
    """Keeps the first samples until the layer is fixed.

    Until then a provisional layer is drawn from the first 1, 2, 4, 8 … samples and all of them are
    learnt again, so that at any time the model is what it would be had its layer been there from
    the start, however the samples were divided into chunks.
    """

    def __init__(self, needed: int) -> None:
        """Wait for that many samples."""
        self.needed = needed
        self.parts: list[Rows] = []
        self.annotations: list[Annotation] = []

    def __len__(self) -> int:
        """Return how many samples are kept."""
        return len(self.annotations)

    @property
    def over(self) -> bool:
        """Whether enough samples have come."""
        return len(self) >= self.needed

    @property
    def layer_samples(self) -> int:
        """How many of the kept samples the layer is drawn from: a power of two, or all needed."""
        return self.needed if self.over else 1 << (len(self).bit_length() - 1)

    def keep(self, rows: Rows, annotations: list[Annotation]) -> None:
        """Keep a copy of the samples."""
        self.parts.append(rows.copy())
        self.annotations = self.annotations + list(annotations)

    def rows(self) -> Rows:
        """Return the kept samples as rows; sparse if any of them came so."""
        if len(self.parts) > 1:
            mixed = any(sparse.issparse(part) for part in self.parts)
            joined = (sparse.vstack([sparse.csr_matrix(part) for part in self.parts], format='csr')
                      if mixed else np.concatenate(self.parts))
            self.parts = [joined]
        return self.parts[0]

    def copy(self) -> WarmUp:
        """Return a copy that can grow on its own; the kept rows are shared."""
        twin = WarmUp(self.needed)
        twin.parts, twin.annotations = list(self.parts), self.annotations
        return twin

    def without(self, place: int) -> WarmUp:
        """Return the same without one sample."""
        left = WarmUp(self.needed)
        others = [other for other in range(len(self)) if other != place]
        if others:
            left.keep(self.rows()[others], [self.annotations[other] for other in others])
        return left

    def find(self, row: Rows, said: Annotation) -> int | None:
        """Return the place of the last sample equal to the row with this annotation."""
        wanted = (set(said.present), set(said.absent), said.complete)
        for place in range(len(self) - 1, -1, -1):
            kept = self.annotations[place]
            if (set(kept.present), set(kept.absent), kept.complete) == wanted and _equal(
                    self.rows()[place:place + 1], row):
                return place
        return None


def _equal(one: Rows, other: Rows) -> bool:
    if sparse.issparse(one) or sparse.issparse(other):
        return abs(sparse.csr_matrix(one) - sparse.csr_matrix(other)).nnz == 0
    return bool(np.array_equal(one, other))
