# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a table that are numbers, but no quantities."""

from __future__ import annotations

import re

import numpy as np
from scipy import sparse

from proemlc_ros.evaluation.tables import DataSet

# Fewer rows say little about a column.
_ROWS = 20
# A category has a handful of codes.
_CODES = (3, 20)
_ID_NAME = re.compile(r'(?:^|[_\W])(?:id|uuid|index|idx|row|no|nr)$', re.IGNORECASE)
_SHOWN = 5


def column_notes(data: DataSet) -> list[str]:
    """Return a note for each kind of column that should probably not be a feature as it is."""
    if len(data) < _ROWS or sparse.issparse(data.X):
        return []
    X = np.asarray(data.X)
    whole = np.flatnonzero((X == np.round(X)).all(axis=0)).tolist()
    ids = [place for place in whole if _is_id(X[:, place], data.feature_names[place])]
    codes = [place for place in whole if place not in ids and _is_code(X[:, place])]
    notes = []
    if ids:
        notes.append(f'{_named(data, ids)}: numbers the samples, it seems, and says nothing about '
                     'new ones; leave it out')
    if codes:
        notes.append(f'{_named(data, codes)}: few whole numbers, maybe codes of categories, whose '
                     'order means nothing; make one 0/1 column per category, if so')
    return notes


def _is_id(column: np.ndarray, name: str) -> bool:
    distinct = len(np.unique(column)) == len(column)
    steps = np.diff(np.sort(column))
    return distinct and (bool((steps == steps[0]).all()) or bool(_ID_NAME.search(name)))


def _is_code(column: np.ndarray) -> bool:
    """Tell whether there are a few values in a row, and not mostly zero as counts are."""
    values, counts = np.unique(column, return_counts=True)
    return (_CODES[0] <= len(values) <= _CODES[1] and values[0] in (0.0, 1.0)
            and bool((np.diff(values) == 1.0).all()) and counts[0] < 0.5 * len(column)
            # Counts and levels thin out or peak; categories have no order to follow.
            and len(column) >= 10 * len(values) and not _is_ordered(counts))


def _is_ordered(counts: np.ndarray) -> bool:
    """Tell whether the frequencies fall all the way, or rise to a peak and fall."""
    peak = int(counts.argmax())
    return bool((np.diff(counts[:peak + 1]) >= 0).all() and (np.diff(counts[peak:]) <= 0).all())


def _named(data: DataSet, places: list[int]) -> str:
    names = [data.feature_names[place] for place in places]
    more = f' and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''
    return f'{data.name}, {"columns" if len(names) > 1 else "column"} ' + ', '.join(
        map(repr, names[:_SHOWN])) + more
