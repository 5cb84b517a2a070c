# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The same measures over a stream: updated sample by sample, while labels are added."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.metrics import ranking, sets
from proemlc_ros.core.metrics.sets import Array, Counts, Indicators, SetCounts
from proemlc_ros.errors import LabelError, ParameterError

_EXAMPLE = tuple(sets.EXAMPLE_METRICS)
_RANKING = tuple(ranking.RANKING_METRICS)
# Columns of a row of sums: wrong decisions, decisions, example measures, then ranking measures.
_WRONG, _DECISIONS = 0, 1
_FIRST_RANKING = 2 + len(_EXAMPLE)
_COLUMNS = _FIRST_RANKING + len(_RANKING)


class StreamingMetrics:
    """Every measure over all samples so far, in memory for one row and three counts a label.

    Rows may grow wider as labels are added; a label counts in the Hamming loss from the sample on
    that first has a place for it. With a fixed number of labels the values equal the batch ones.

    >>> measures = StreamingMetrics()
    >>> measures.add([1, 0], [1, 0])
    >>> measures.add([1, 1, 0], [0, 1, 0])  # a third label has come
    >>> measures.values()['hamming_loss']
    0.2
    """

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.samples = 0
        self.ranked = 0
        self._sums = np.zeros(_COLUMNS)
        self._labels = _LabelCounts()

    def add(self, Y_true: object, Y_pred: object, scores: object = None) -> None:
        """Take one sample or several rows; scores make the ranking measures count as well.

        Raises:
            InputError: when the shapes disagree or a value is no indicator.
            LabelError: when a row is narrower than an earlier one.
        """
        truth, predicted = sets.pair(Y_true, Y_pred)
        rows = _contributions(truth, predicted, scores)
        self._labels.add(truth, predicted)
        self._sums += np.nan_to_num(rows).sum(axis=0)
        self.samples += len(rows)
        self.ranked += len(rows) if scores is not None else 0

    def values(self) -> dict[str, float]:
        """Return every measure by name; empty before the first sample."""
        return _values(self._sums, self.samples, self.ranked, self._labels.counts())


class RollingMetrics:
    """Every measure over the latest samples.

    Args:
        window: samples looked back upon.
    """

    def __init__(self, window: int) -> None:
        """Start with nothing seen."""
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ParameterError(f'window is {window!r}; it must be a whole number of at least 1')
        self.window = window
        self._rows: deque[Array] = deque()
        self._places: deque[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]] = deque()
        self._labels = _LabelCounts()

    @property
    def samples(self) -> int:
        """How many samples the window holds."""
        return len(self._rows)

    def add(self, Y_true: object, Y_pred: object, scores: object = None) -> None:
        """Take one sample or several rows; the oldest leave. As StreamingMetrics.add()."""
        truth, predicted = sets.pair(Y_true, Y_pred)
        rows = _contributions(truth, predicted, scores)
        self._labels.add(truth, predicted)
        for row, present, chosen in zip(rows, truth, predicted, strict=True):
            self._rows.append(row)
            self._places.append((np.flatnonzero(present), np.flatnonzero(chosen)))
            if len(self._rows) > self.window:
                self._rows.popleft()
                self._labels.drop(*self._places.popleft())

    def values(self) -> dict[str, float]:
        """Return every measure by name; empty before the first sample."""
        if not self._rows:
            return {}
        rows = np.array(self._rows)
        ranked = int(np.count_nonzero(~np.isnan(rows[:, -1])))
        return _values(np.nan_to_num(rows).sum(axis=0), len(rows), ranked, self._labels.counts())


class _LabelCounts:
    """Hits, predictions and presences of each label, growing to the right."""

    def __init__(self) -> None:
        self._counts: Counts = np.zeros((3, 0), dtype=np.int64)

    def add(self, truth: Indicators, predicted: Indicators) -> None:
        known, width = self._counts.shape[1], truth.shape[1]
        if width < known:
            raise LabelError(f'a row of {width} labels came after rows of {known}; labels may be '
                             'added to a stream, not taken away')
        if width > known:
            self._counts = np.pad(self._counts, ((0, 0), (0, width - known)))
        self._counts += np.array(sets.label_counts(truth, predicted))

    def drop(self, present: npt.NDArray[np.intp], chosen: npt.NDArray[np.intp]) -> None:
        self._counts[0, np.intersect1d(present, chosen, assume_unique=True)] -= 1
        self._counts[1, chosen] -= 1
        self._counts[2, present] -= 1

    def counts(self) -> SetCounts:
        return SetCounts(*self._counts)


def _contributions(truth: Indicators, predicted: Indicators, scores: object) -> Array:
    """Return one row of summands a sample; NaN where there is no ranking."""
    rows = np.full((len(truth), _COLUMNS), np.nan)
    counts = sets.example_counts(truth, predicted)
    rows[:, _WRONG] = counts.predicted + counts.present - 2 * counts.hits
    rows[:, _DECISIONS] = truth.shape[1]
    for column, measure in enumerate(sets.EXAMPLE_METRICS.values(), _DECISIONS + 1):
        rows[:, column] = measure(counts)
    if scores is not None:
        ranked = ranking.check_scores(scores, truth)
        for column, rank in enumerate(ranking.RANKING_METRICS.values(), _FIRST_RANKING):
            rows[:, column] = rank(truth, ranked)
    return rows


def _values(sums: Array, samples: int, ranked: int, labels: SetCounts) -> dict[str, float]:
    if not samples:
        return {}
    decisions = sums[_DECISIONS]
    values = {'hamming_loss': float(sums[_WRONG] / decisions) if decisions else 0.0}
    values.update((name, float(total / samples))
                  for name, total in zip(_EXAMPLE, sums[2:_FIRST_RANKING], strict=True))
    values['f1_paper'] = sets.harmonic_mean(values['precision'], values['recall'])
    values['f1_micro'] = sets.micro_f1_of(labels)
    values['f1_macro'] = sets.macro_f1_of(labels)
    if ranked:
        values.update((name, float(total / ranked))
                      for name, total in zip(_RANKING, sums[_FIRST_RANKING:], strict=True))
    return values
