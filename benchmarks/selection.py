# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""Model selection in one pass against refitting every point, side by side on Scene.

Both find the leave-one-out scores of the same sizes and ridges. Refitting is timed on a few points
and samples, each a real ridge solve without the sample, and scaled up to all of them: done in
full it would take hours. A second comparison grants the refits the leave-one-out identity too, so
that only the shared factorisation is left to gain from. Times are processor times of one thread.
"""

from __future__ import annotations

import os

# Before NumPy: thread_time() sees one thread only.
for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from proemlc_ros.core.deciding.left_out import left_out_scores, nested_fits
from proemlc_ros.core.options import Options
from proemlc_ros.core.selection.candidates import hidden_columns
from proemlc_ros.core.selection.search import RIDGES, SIZES
from proemlc_ros.experiments.datasets import find_dataset


def main() -> None:
    """Print one line per metric."""
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parents[1]
    parser.add_argument('--data', type=Path, default=Path(
        os.environ.get('PROEMLC_DATA', root.parent / 'shared')) / 'datasets')
    parser.add_argument('--refits', type=int, default=3, help='samples left out for real')
    args = parser.parse_args()
    scene = find_dataset(args.data, 'scene')
    options = Options(hidden_size=SIZES[-1], activation='relu')
    # Random neurons: they do not depend on the samples, so that refits can be compared.
    H, others, *_ = hidden_columns(scene.X, options, len(scene))
    T = np.where(scene.Y, 1.0, -1.0)
    columns = [others + size for size in SIZES]

    began = time.thread_time()
    for ridge in RIDGES:
        fits = list(nested_fits(H, T, ridge, columns))
    one_pass = time.thread_time() - began
    refits, identity = refit_times(H, T, columns, args.refits, fits)
    points = len(SIZES) * len(RIDGES)
    print(f'model selection, one pass ({points} points): {one_pass:.2f} s')
    print(f'refitting each point without each sample: {refits:.0f} s, {refits / one_pass:.0f}x '
          '(bar: at least 20x)')
    print(f'refitting each point once, left out by the identity: {identity:.2f} s, '
          f'{identity / one_pass:.1f}x')


def refit_times(H: np.ndarray, T: np.ndarray, columns: list[int], samples: int,
                fits: list) -> tuple[float, float]:
    """Return the time of all refits, and of one fit per point; checks that the scores agree."""
    refits = identity = 0.0
    ridge = RIDGES[-1]
    for size, fit in zip(columns, fits, strict=True):
        part = np.ascontiguousarray(H[:, :size])
        began = time.thread_time()
        solve = cho_factor(part.T @ part + ridge * np.eye(size))
        fitted = part @ cho_solve(solve, part.T @ T)
        left_out_scores(T, fitted, np.einsum('ij,ji->i', part, cho_solve(solve, part.T)))
        identity += (time.thread_time() - began) * len(RIDGES)
        for sample in range(samples):
            others = np.arange(len(H)) != sample
            began = time.thread_time()
            rest = part[others]
            solve = cho_factor(rest.T @ rest + ridge * np.eye(size))
            score = part[sample] @ cho_solve(solve, rest.T @ T[others])
            refits += (time.thread_time() - began) / samples * len(H) * len(RIDGES)
            if not np.allclose(score, fit.left_out[sample], atol=1e-8):
                raise SystemExit(f'size {size}: a refit disagrees with the one pass')
    return refits, identity


if __name__ == '__main__':
    main()
