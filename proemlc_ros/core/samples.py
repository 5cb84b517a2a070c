# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples with their annotations, as users give them."""

from __future__ import annotations

from proemlc_ros.core.labels import SampleLabels, read_annotation, read_annotations
from proemlc_ros.core.rows import Rows, is_single, read_rows


def read_samples(X: object, labels: object, absent: object, complete: object, width: int | None,
                 dtype: str) -> tuple[Rows, list[SampleLabels]]:
    """Return rows and one annotation a row, all checked.

    Args:
        X: one sample (width,), or rows (n, width).
        labels: the names present in the sample; for rows one collection a row.
        absent: the names absent from it, likewise, or None.
        complete: whether labels not listed are absent; one value, or one a row.
        width: the length that a sample must have; None: any.
        dtype: of the returned rows.

    Raises:
        InputError: when X cannot be used, or there is not one annotation a row.
        LabelError: when the labels cannot be used.
    """
    rows = read_rows(X, width, dtype)
    if is_single(X):
        return rows, [read_annotation(labels, absent, complete)]
    return rows, read_annotations(rows.shape[0], labels, absent, complete)
