# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that were annotated: one annotation counts, not thirty near copies of it."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from proemlc_ros.errors import UnmatchedAnnotationError
from proemlc_ros.records import Annotation

# Distance of two vectors, relative to their length, below which one is a near copy of the other.
NEAR_COPY = 0.05
MAX_OBJECTS = 1000


class TaughtObjects:
    """The last annotation of each object, by the id of its region."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, Annotation] = OrderedDict()

    def check(self, annotation: Annotation) -> UnmatchedAnnotationError | None:
        """Note an annotation that has found its features; return why it teaches nothing new.

        Args:
            annotation: of a region with an id.
        """
        name = annotation.region.id
        last = self._last.pop(name, None)
        if last is not None and _repeats(annotation, last):
            self._last[name] = last
            return UnmatchedAnnotationError(
                'same_object', f'the object {ascii(name[:100])} was annotated with these labels, '
                'and looks the same as then; annotate it again when it looks different')
        self._last[name] = annotation
        if len(self._last) > MAX_OBJECTS:
            self._last.popitem(last=False)
        return None

    def clear(self) -> None:
        """Forget all: what was learnt of them may have been taken back."""
        self._last.clear()


def _repeats(one: Annotation, other: Annotation) -> bool:
    first, second = one.matched_features, other.matched_features
    if (set(one.labels), set(one.absent), one.complete) != (
            set(other.labels), set(other.absent), other.complete) or first.shape != second.shape:
        return False
    length = max(float(np.linalg.norm(first)), float(np.linalg.norm(second)))
    return float(np.linalg.norm(first - second)) <= NEAR_COPY * length
