# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How the cost of one sample grows with hidden size, labels, features and samples learnt.

Times are processor times of this thread, the least of several turns, BLAS on one thread. The slope
is that of the line through the logarithms: 1 means that twice as much takes twice as long; beside
it stands that of the steepest step, where arrays leave the caches. Theory: learning is quadratic
in the neurons, linear in labels and features, and does not depend on how many samples were
learnt; predicting is linear in all three.

    ./proemlc run python benchmarks/growth.py [--quick] [--figure FILE.svg]
"""

from __future__ import annotations

import os

# Before NumPy: at these sizes a second thread costs more than it brings.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation.charts import Series, line_chart

# What stays as it is while one of them grows.
USUAL = {'neurons': 500, 'labels': 6, 'features': 294}
RELU = {'activation': 'relu', 'scaling': 'none'}
# The slope may be above that of theory by this much, for noise.
_ALLOWANCE = 0.1


class Axis(NamedTuple):
    """What grows, through which values, and the slopes of theory for learning and predicting."""

    name: str
    values: tuple[int, ...]
    learn: float
    predict: float


AXES = (Axis('neurons', (200, 500, 1000, 2000, 4000), 2.0, 1.0),
        Axis('labels', (6, 30, 100, 300, 1000), 1.0, 1.0),
        Axis('features', (64, 256, 1024, 4096), 1.0, 1.0),
        Axis('samples', (1_000, 10_000, 100_000, 1_000_000), 0.0, 0.0))


class Cost(NamedTuple):
    """Microseconds of one sample."""

    learn: float
    predict: float


def samples(count: int, features: int, labels: int) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Return samples with two labels each."""
    random = np.random.default_rng(0)
    shown = random.integers(0, labels, (count, 2))
    return (random.standard_normal((count, features)),
            [tuple({f'label {place}': None for place in places}) for places in shown.tolist()])


def least(job: Callable[[int], object], calls: int, turns: int = 5) -> float:
    """Return the microseconds of one call."""
    best = math.inf
    for turn in range(turns):
        start = time.thread_time()
        for place in range(calls):
            job(turn * calls + place)
        best = min(best, (time.thread_time() - start) / calls)
    return best * 1e6


def cost(model: ProEMLC, X: np.ndarray, names: list[tuple[str, ...]]) -> Cost:
    """Return what one sample costs a model."""
    # Every sample is another one, so that no turn finds the last prediction kept.
    calls = max(10, min(200, 20_000_000 // model.weights.shape[0] ** 2))
    count = len(X)
    predict = least(lambda place: model.predict(X[place % count]), calls)
    return Cost(least(lambda place: model.learn(X[place % count], names[place % count]), calls),
                predict)


def taught(settings: dict[str, Any], neurons: int, labels: int, features: int,
           ) -> tuple[ProEMLC, np.ndarray, list[tuple[str, ...]]]:
    """Return a model whose layer is fixed, with samples for it."""
    X, names = samples(max(600, 2 * labels), features, labels)
    model = ProEMLC(hidden_size=neurons, labels=[f'label {place}' for place in range(labels)],
                    **settings)
    model.learn_initial(X[:500], names[:500])
    return model, X, names


def along(axis: Axis, settings: dict[str, Any], most: int) -> Iterator[tuple[int, Cost]]:
    """Yield the values of an axis up to a number, each with the cost there."""
    values = [value for value in axis.values if value <= most]
    if axis.name != 'samples':
        for value in values:
            yield value, cost(*taught(settings, **{**USUAL, axis.name: value}))
        return
    # Few neurons, since a million samples are to be learnt.
    model, X, names = taught(settings, **{**USUAL, 'neurons': 200})
    for value in values:
        while model.samples < value:
            model.learn(X, names)
        yield value, cost(model, X, names)


def slopes(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Return the slope of the line through the logarithms of points, and of the steepest step."""
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0]), float((np.diff(y) / np.diff(x)).max())


def report(axis: Axis, kind: str, points: list[tuple[int, Cost]]) -> list[Series]:
    """Print the costs along an axis; return them as curves of logarithms."""
    curves = []
    for what in Cost._fields:
        course = [(value, getattr(found, what)) for value, found in points]
        (line, steepest), theory = slopes(course), getattr(axis, what)
        fits = line <= theory + _ALLOWANCE
        print(f'{"PASS" if fits else "MISS"} {what:<8}{kind:<9}{axis.name:<9}'
              + '  '.join(f'{value}: {us:.0f} us' for value, us in course)
              + f'; slope {line:.2f}, steepest step {steepest:.2f} (theory {theory:g})',
              flush=True)
        base = axis.values[0]
        curves.append(Series(f'{what}, {axis.name}, {kind}', [
            math.log10(value / base) for value, _ in course],
            [math.log10(us) for _, us in course]))
    return curves


def main() -> int:
    """Print the cost along each axis, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='without the largest sizes')
    parser.add_argument('--figure', type=Path, metavar='FILE', help='draw the curves, as SVG')
    args = parser.parse_args()
    curves: list[Series] = []
    for axis in AXES:
        most = axis.values[-2] if args.quick else axis.values[-1]
        curves += report(axis, 'relu', list(along(axis, RELU, most)))
    for axis in AXES[1:3]:
        most = axis.values[-2] if args.quick else axis.values[-1]
        curves += report(axis, 'default', list(along(axis, {}, most)))
    if args.figure:
        args.figure.write_text(line_chart(
            [curve for curve in curves if curve.name.endswith('relu')],
            'Cost of one sample', 'log10 of the growth: of neurons from 200, labels 6, features '
            '64, samples 1000', 'log10 of microseconds'), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
