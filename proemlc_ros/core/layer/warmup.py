# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The first samples, kept while the hidden layer still depends on them."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.samples import SampleLabels

# Up to here each sample draws the layer anew: it must answer to what was taught a moment ago.
_FEW = 64
# From here on drawing takes long.
_MANY = 256


class WarmUp:
    """Keeps the first samples until the layer is fixed.

    Until then a provisional layer is drawn from the first 1, 2, 3 … 64, 80, 96, 112, 128, 160 …
    224 samples, then each time a quarter more have come, and all of them are learnt again, so that
    at any time the model is what it would be had its layer been there from the start, however the
    samples were divided into chunks.
    """

    def __init__(self, needed: int, parts: tuple[Rows, ...] = (),
                 annotations: tuple[SampleLabels, ...] = ()) -> None:
        """Wait for that many samples; parts and annotations: those kept already."""
        self.needed = needed
        self.parts = parts
        self.annotations = annotations
        # Whether enough samples have come.
        self.over = len(annotations) >= needed
        # How many of the kept samples the layer is drawn from.
        self.layer_samples = needed if self.over else _layer_samples(len(annotations), needed)

    def __len__(self) -> int:
        """Return how many samples are kept."""
        return len(self.annotations)

    def plus(self, rows: Rows, annotations: list[SampleLabels]) -> WarmUp:
        """Return the same with copies of more samples."""
        return WarmUp(self.needed, (*self.parts, rows.copy()), (*self.annotations, *annotations))

    def minus(self, row: Rows, annotation: SampleLabels) -> WarmUp | None:
        """Return the same without the last sample that equals this one; None: there is none."""
        place = self._find(row, annotation)
        if place is None:
            return None
        others = [other for other in range(len(self)) if other != place]
        return WarmUp(self.needed, (self.rows()[others],),
                      self.annotations[:place] + self.annotations[place + 1:])

    def renamed(self, name: str, new_name: str | None) -> WarmUp:
        """Return the same with another name for a label; None: without the label."""
        def changed(names: tuple[str, ...]) -> tuple[str, ...]:
            replaced = (new_name if other == name else other for other in names)
            return tuple(other for other in replaced if other is not None)

        return WarmUp(self.needed, self.parts, tuple(
            SampleLabels(changed(present), changed(absent), complete)
            for present, absent, complete in self.annotations))

    def rows(self) -> Rows:
        """Return the kept samples as rows; sparse if any of them came so."""
        if len(self.parts) > 1:
            self.parts = (_stack(self.parts),)
        return self.parts[0]

    @property
    def memory_bytes(self) -> int:
        """The memory of the kept samples."""
        return sum(part.data.nbytes for part in self.parts)

    def _find(self, row: Rows, annotation: SampleLabels) -> int | None:
        wanted = _meaning(annotation)
        for place in range(len(self) - 1, -1, -1):
            if _meaning(self.annotations[place]) == wanted and _equal(
                    self.rows()[place:place + 1], row):
                return place
        return None


def _layer_samples(count: int, needed: int) -> int:
    """Return how many of so many samples a provisional layer is drawn from; needed: of the last.

    All of the first few, then four fifths of them at least, for a label whose one sample is no
    centre would never be named. Where drawing takes long, the numbers are counted back from the
    last layer, so that none is drawn just before it.
    """
    if count <= _FEW:
        return count
    if count < _MANY:
        step = 1 << count.bit_length() >> 3
        return count // step * step
    drawn = needed
    while drawn > count:
        drawn = -(-4 * drawn // 5)
    return max(drawn, _MANY * 7 // 8)


def _meaning(annotation: SampleLabels) -> tuple[frozenset[str], frozenset[str], bool]:
    return frozenset(annotation.present), frozenset(annotation.absent), annotation.complete


def _stack(parts: tuple[Rows, ...]) -> Rows:
    if not any(map(is_sparse, parts)):
        return np.concatenate(parts)
    from scipy import sparse
    return sparse.vstack([sparse.csr_matrix(part) for part in parts], format='csr')


def _equal(one: Rows, other: Rows) -> bool:
    if not is_sparse(one) and not is_sparse(other):
        return bool(np.array_equal(one, other))
    from scipy import sparse
    return bool((sparse.csr_matrix(one) != sparse.csr_matrix(other)).nnz == 0)
