# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Speed, drift and memory of the learner, one line per metric, each with its bar.

Times are processor times of this thread, the best of several turns in which ours and the yardstick
alternate, so that other load on the machine matters little. The BLAS runs on one thread.

    python benchmarks/core.py [--quick]
"""

from __future__ import annotations

import os

# Before NumPy: at these sizes a second thread costs more than it brings.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core_yardsticks import Subject, equations_in_numpy, outer_product_form

from proemlc_ros.core import ProEMLC

BAR_SIZE = (1000, 50)
missed: list[str] = []


def report(what: str, text: str, ok: bool | None = None) -> None:
    """Print one line; ok None: a figure without a bar."""
    print(f'{"     " if ok is None else "PASS " if ok else "MISS "} {what:<34} {text}', flush=True)
    if ok is False:
        missed.append(what)


def side_by_side(jobs: dict[str, Callable[[], object]], seconds: float = 0.15,
                 turns: int = 5) -> dict[str, float]:
    """Return the processor time of one call of each job, in seconds."""
    best = dict.fromkeys(jobs, float('inf'))
    for turn in range(turns + 1):
        for name, job in jobs.items():
            calls, start = 0, time.thread_time()
            while time.thread_time() - start < (seconds if turn else seconds / 5):
                job()
                calls += 1
            if turn:  # the first turn warms up
                best[name] = min(best[name], (time.thread_time() - start) / calls)
    return best


def time_size(hidden: int, labels: int, dtype: str, quick: bool) -> None:
    """Time everything at one size."""
    subject = Subject(hidden, labels, dtype)
    size = f'{hidden} x {labels}' + (' float32' if dtype == 'float32' else '')
    bar_here = (hidden, labels, dtype) == (*BAR_SIZE, 'float64')
    seconds = 0.05 if quick else 0.15
    took = side_by_side({
        'learn': subject.learn, 'recursion': subject.recursion, 'bare': subject.four_bare_calls,
        'chunk': subject.learn_chunk, 'predict': subject.predict,
        'products': subject.bare_products, 'classify': subject.classify,
        'all products': subject.bare_products_and_gain}, seconds)
    us = {name: value * 1e6 for name, value in took.items()}
    ratio = us['recursion'] / us['bare']
    report(f'update {size}', f'{us["recursion"]:8.1f} us, {ratio:.2f}x the four bare BLAS calls '
           '(bar <= 1.5x)', ratio <= 1.5)
    ratio = us['learn'] / (us['bare'] + us['products'])
    report(f'learn() {size}', f'{us["learn"]:8.1f} us with hidden row, checks and thresholds, '
           f'{ratio:.2f}x all bare products')
    for name, bare in (('predict', 'products'), ('classify', 'all products')):
        ratio = us[name] / us[bare]
        report(f'{name}() {size}', f'{us[name]:8.1f} us, {ratio:.2f}x the bare products'
               + (' (bar <= 1.4x)' if bar_here else ''), ratio <= 1.4 if bar_here else None)
    ratio = us['chunk'] / 64 / us['learn']
    report(f'chunk of 64 {size}', f'{us["chunk"] / 64:8.1f} us per sample, {ratio:.2f}x a single '
           'one (bar < 1x)', ratio < 1.0)
    time_new_labels(subject, size, us['learn'])


def time_new_labels(subject: Subject, size: str, learn_us: float) -> None:
    """Time 200 new labels, growth of the arrays included."""
    best = float('inf')
    for turn in range(5):
        learner = subject.new_learner()
        start = time.thread_time()
        for number in range(200):
            learner.grow([f'new {turn} {number}'])
        best = min(best, (time.thread_time() - start) / 200 * 1e6)
    report(f'new label {size}', f'{best:8.1f} us, {best / learn_us:.2f}x learning one sample '
           '(bar <= 1x)', best <= learn_us)


def compare_equations(hidden: int, labels: int) -> None:
    """Compare with the equations in plain NumPy."""
    subject = Subject(hidden, labels)
    took = side_by_side({'ours': subject.learn, 'printed': equations_in_numpy(subject),
                         'outer': outer_product_form(subject)}, turns=3)
    ratio = took['printed'] / took['ours']
    report(f'eqs 20-21 in NumPy {hidden} x {labels}',
           f'{took["printed"] * 1e6:8.0f} us; learn() is {ratio:.0f}x faster (bar >= 20x)',
           ratio >= 20.0)
    report(f'eqs 8-9 in NumPy {hidden} x {labels}', f'{took["outer"] * 1e6:8.0f} us; learn() is '
           f'{took["outer"] / took["ours"]:.1f}x faster')


def show_drift(updates: int, hidden: int, dtype: str, bar: float | None) -> None:
    """Learn one by one for long and compare with the batch solution."""
    random = np.random.default_rng(1)
    model = ProEMLC(hidden_size=hidden, activation='tanh', scaling='none', ridge=1.0, dtype=dtype)
    gram, sums = np.zeros((hidden + 1, hidden + 1)), np.zeros((hidden + 1, 6))
    names = [f'label {number}' for number in range(6)]
    directions = random.normal(size=(20, 6))
    for _ in range(updates // 1000):
        X = random.normal(size=(1000, 20)).astype(dtype)
        present = X @ directions > 2.0
        annotations = [tuple(itertools.compress(names, row)) for row in present]
        for x, shown in zip(X, annotations):
            model.learn(x, shown)
        H = model.hidden(X).astype(np.float64)
        gram += H.T @ H
        order = [names.index(name) for name in model.labels]
        sums += H.T @ np.where(present, 1.0, -1.0)
    expected = np.linalg.solve(gram + np.eye(hidden + 1), sums)[:, order]
    drift = np.abs(model.weights - expected).max()
    bound = f' (bar <= {bar:g})' if bar else ''
    report(f'{updates} updates, {dtype}', f'weights within {drift:.1e} of the batch solution'
           f'{bound}; largest weight {np.abs(expected).max():.2f}',
           bool(drift <= bar) if bar else None)


def resident_megabytes() -> float:
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6


def show_memory(samples: int) -> None:
    """Stream samples and watch the resident memory."""
    random = np.random.default_rng(2)
    model = ProEMLC(hidden_size=50, width=20)
    sizes = []
    block = samples // 20
    for turn in range(20):
        for _ in range(block // 100):
            X = random.normal(size=(100, 20))
            model.learn(X, [('a',) if x[0] > 0 else ('b',) for x in X])
        if turn % 9 == 1:
            sizes.append(resident_megabytes())
    growth = sizes[-1] - sizes[0]
    report(f'{model.samples} samples in a stream', f'{growth:+.1f} MB from sample {2 * block} on, '
           f'of {sizes[-1]:.0f} MB (bar: flat, < 2 MB)', growth < 2.0)


def show_longest(name: str, samples: int, **settings: object) -> None:
    """Learn one sample after the other and compare the longest learn() with the usual one."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(samples, 294))
    names = [f'label {number}' for number in range(50)]
    model = ProEMLC(labels=names, **settings)
    model.copy().learn(rows[0], names[:1])  # what is imported at the first use
    took = []
    for row in rows:
        labels = random.choice(names, 2, replace=False).tolist()
        start = time.thread_time()
        model.learn(row, labels)
        took.append(time.thread_time() - start)
    usual, longest = float(np.median(took)), max(took)
    report(f'longest learn(), {name}',
           f'{longest * 1e3:.1f} ms at sample {took.index(longest) + 1} of {samples}, '
           f'{longest / usual:.0f}x the median of {usual * 1e3:.2f} ms, mean '
           f'{np.mean(took) * 1e3:.2f} ms (bar <= 20x)', longest <= 20.0 * usual)


def main() -> int:
    """Run all benchmarks; the exit code says whether every bar was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='fewer sizes and shorter streams')
    quick = parser.parse_args().quick
    for hidden, labels in [BAR_SIZE] if quick else itertools.product((200, 1000, 2000),
                                                                     (6, 50, 400)):
        time_size(hidden, labels, 'float64', quick)
    for hidden in [1000] if quick else [200, 1000, 2000]:
        time_size(hidden, 50, 'float32', quick)
    compare_equations(*BAR_SIZE)
    show_drift(20_000 if quick else 200_000, 100, 'float64', 1e-8)
    show_drift(20_000, 100, 'float32', None)
    show_memory(100_000 if quick else 1_000_000)
    show_longest('1000 random neurons', 1500, hidden_size=1000, activation='relu', scaling='none')
    show_longest('the same behind a fitted scaling', 1500, hidden_size=1000, activation='relu')
    show_longest('defaults', 800)
    print(f'{len(missed)} bars missed' + (': ' + ', '.join(missed) if missed else ''))
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
