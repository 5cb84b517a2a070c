# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The result of a model selection: all points, the best one, and its curve over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proemlc_ros.core.options import Options
from proemlc_ros.errors import ParameterError

# Points this close to the best F1 are as good, for all that the samples can tell. Of them the one
# with the least squared error is chosen, which depends less on a few samples.
_TOLERANCE = 0.01
# What a network may lose of the best F1 to be small.
_SMALL = 0.02
_BAR = 30


@dataclass(frozen=True)
class Point:
    """One size of one candidate with one ridge, and its errors."""

    options: Options
    columns: int
    training_hamming: float
    left_out_hamming: float
    left_out_f1: float
    left_out_square: float
    threshold: float
    minimum: int


class Selection:
    """The points of a model selection.

    Attributes:
        points: all of them.
        best_point: the least squared left-out error within 1 % of the best left-out F1.
        small_point: the fewest hidden columns within 2 % of it, for slow machines.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        """Choose the best of the points."""
        if not points:
            raise ParameterError('there are no points to choose among')
        self.points = tuple(points)
        self.best_point = min(self._within(_TOLERANCE),
                              key=lambda point: (point.left_out_square, point.columns))
        self.small_point = min(self._within(_SMALL),
                               key=lambda point: (point.columns, -point.left_out_f1))

    @property
    def best(self) -> Options:
        """The settings of the best point."""
        return self.best_point.options

    def keywords(self) -> dict[str, Any]:
        """Return the best settings as keywords of ProEMLC."""
        return self.best.as_dict()

    def curve(self) -> list[Point]:
        """Return the points over hidden sizes that share all other settings with the best."""
        mine = self._apart_from_size(self.best_point)
        return sorted((point for point in self.points if self._apart_from_size(point) == mine),
                      key=lambda point: point.columns)

    def text(self) -> str:
        """Return the curve of the best settings as a table with bars, for a terminal."""
        curve = self.curve()
        highest = max(max(point.training_hamming, point.left_out_hamming) for point in curve)
        lines = ['hidden  training  left out  F1 left out  Hamming loss (# training, - left out)']
        for point in curve:
            mark = ' <- chosen' if point is self.best_point else ''
            bar = _bar(point.training_hamming, point.left_out_hamming, highest)
            lines.append(f'{point.options.hidden_size:6d}  {point.training_hamming:8.4f}  '
                         f'{point.left_out_hamming:8.4f}  {point.left_out_f1:11.4f}  {bar}{mark}')
        return '\n'.join([*lines, '', self.summary()])

    def summary(self, point: Point | None = None) -> str:
        """Return the choice in one line; point: another one than the best."""
        point = point or self.best_point
        best = point.options
        extras = ''.join(f', {name}' for name in ('direct_links', 'whiten', 'bias')
                         if getattr(best, name))
        return (f'chosen: {best.activation}, {best.hidden_size} hidden, ridge {best.ridge:g}, '
                f'scaling {best.scaling}, gamma_scale {best.gamma_scale:g}{extras}; threshold '
                f'{point.threshold:.3f}, at least {point.minimum} label(s)')

    def _within(self, share: float) -> list[Point]:
        """Return the points that lose at most that share of the best F1."""
        enough = max(point.left_out_f1 for point in self.points) * (1.0 - share)
        return [point for point in self.points if point.left_out_f1 >= enough]

    @staticmethod
    def _apart_from_size(point: Point) -> dict[str, Any]:
        return {**point.options.as_dict(), 'hidden_size': None}


def _bar(training: float, left_out: float, highest: float) -> str:
    """Draw both errors on one line; the longer one shows where it goes on."""
    scale = _BAR / highest if highest > 0.0 else 0.0
    first, second = round(training * scale), round(left_out * scale)
    return '#' * first + '-' * max(0, second - first)
