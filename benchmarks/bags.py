# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: speed of evaluation against bare reading, memory, and Dask, in one run.

python benchmarks/bags.py                  # speed, and Dask with two local workers
python benchmarks/bags.py --memory         # also memory from 10^4 to 10^6 samples (minutes)
"""

from __future__ import annotations

import os

# Before NumPy: small matrices are faster on one thread, and Dask workers share the cores.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proemlc_ros.bags.making import make_bag
from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation.engines import DaskEngine, LocalEngine, train
from proemlc_ros.evaluation.replay import Replay
from proemlc_ros.evaluation.runs import Recordings, run

# The width of Scene, and the size that the bars speak of.
WIDTH, HIDDEN, LABELS = 294, 500, 6
RELU = {'hidden_size': HIDDEN, 'activation': 'relu', 'scaling': 'none'}


def samples(count: int, width: int, seed: int = 0) -> Iterator[tuple[np.ndarray, tuple[str, ...]]]:
    """Yield samples with one or two of six labels."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(LABELS, width)).astype(np.float32)
    names = [f'label {number}' for number in range(LABELS)]
    for _ in range(count):
        chosen = np.unique(rng.integers(0, LABELS, 2))
        noise = rng.standard_normal(width, dtype=np.float32)
        yield centres[chosen].sum(axis=0) + noise, tuple(names[place] for place in chosen)


def bare_reading(path: Path) -> None:
    """Read and deserialize every message, as the documentation of rosbags shows."""
    with AnyReader([path]) as reader:
        for connection, _, data in reader.messages():
            reader.deserialize(data, connection.msgtype)


def evaluation(path: Path, **settings: Any) -> None:
    """Do what `proemlc evaluate` does."""
    recordings = Recordings([path], beside=True)
    result = run(recordings, Replay(ProEMLC(**settings)), 'benchmark', lambda _: None)
    if result.rejects:
        raise RuntimeError(f'unexpected rejects: {result.rejects}')


def processor_seconds() -> float:
    """Return the processor time of this process and of the children that have ended."""
    usages = [resource.getrusage(who) for who in (
        resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def fastest(jobs: dict[str, Callable[[], None]], rounds: int) -> dict[str, tuple[float, float]]:
    """Time jobs in turn; return the fewest seconds and processor seconds of each.

    The fastest round is what the code costs on a machine with other work; where that is heavy,
    processor seconds are the fairer measure.
    """
    best = dict.fromkeys(jobs, (float('inf'), float('inf')))
    for _ in range(rounds):
        for name, job in jobs.items():
            start, processor = time.perf_counter(), processor_seconds()
            job()
            used = time.perf_counter() - start, processor_seconds() - processor
            best[name] = min(best[name][0], used[0]), min(best[name][1], used[1])
    return best


def speed(folder: Path, count: int, rounds: int) -> None:
    """Print samples a second of evaluation and of bare reading."""
    for storage in ('mcap', 'sqlite3'):
        path = folder / storage
        make_bag(path, samples(count, WIDTH), storage)
        times = fastest({
            'bare rosbags loop': lambda path=path: bare_reading(path),
            'evaluate, relu': lambda path=path: evaluation(path, **RELU),
            'evaluate, default': lambda path=path: evaluation(path, hidden_size=HIDDEN),
        }, rounds)
        bare, bare_processor = times['bare rosbags loop']
        for name, (seconds, processor) in times.items():
            bar = ' (bar: >= 50 %)' if 'relu' in name else ''
            print(f'{storage:8} {WIDTH} x {HIDDEN}: {name:18} {count / seconds:8,.0f} samples/s, '
                  f'{bare / seconds:4.0%} of bare reading{bar}; {processor / count * 1e6:.0f} us '
                  f'of processor time a sample ({bare_processor / processor:.0%})', flush=True)


def memory(folder: Path, most: int) -> None:
    """Print the highest memory of evaluation over short and long recordings."""
    peaks = {}
    for count in (10_000, most):
        path = folder / f'memory_{count}'
        make_bag(path, samples(count, 8), 'sqlite3')
        output = subprocess.run(
            [sys.executable, __file__, '--child', str(path)],
            check=True, capture_output=True, text=True).stdout
        peaks[count] = int(output) / 1024
        print(f'memory of evaluate at {count:9,} samples: {peaks[count]:.0f} MiB', flush=True)
    print(f'memory: {peaks[most] - peaks[10_000]:+.1f} MiB from 10,000 to {most:,} samples '
          '(bar: flat to 1,000,000)')


def child(path: Path) -> None:
    """Evaluate one recording and print the highest memory in KiB."""
    evaluation(path, hidden_size=50, activation='relu', scaling='none')
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def dask(folder: Path, count: int, bags: int = 6) -> None:
    """Print the time of training with two local workers against one process."""
    paths = []
    for number in range(bags):
        paths.append(folder / f'part_{number}')
        make_bag(paths[-1], samples(count, WIDTH, seed=number))
    recordings = Recordings(paths)
    engine = DaskEngine(workers=2)
    try:
        results: dict[str, ProEMLC] = {}

        def one_process() -> None:
            results['one'] = train(recordings, RELU, LocalEngine())[0]

        def two_workers() -> None:
            results['two'] = train(recordings, RELU, engine)[0]

        times = fastest({'one': one_process, 'two': two_workers}, 2)
    finally:
        engine.close()
    rows = [values for values, _ in samples(100, WIDTH, seed=77)]
    difference = np.abs(results['one'].scores(rows) - results['two'].scores(rows)).max()
    total, one, two = count * bags, times['one'][0], times['two'][0]
    print(f'train: one process {total / one:,.0f} samples/s, Dask with 2 workers '
          f'{total / two:,.0f} samples/s ({one / two:.2f}x), '
          f'scores differ by {difference:.1e} (bar: 1e-8)')


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--samples', type=int, default=20_000)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--memory', action='store_true')
    parser.add_argument('--only-memory', action='store_true')
    parser.add_argument('--most', type=int, default=1_000_000, help='samples for --memory')
    parser.add_argument('--child', type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return
    with TemporaryDirectory(prefix='proemlc_bench_') as name:
        if not args.only_memory:
            speed(Path(name), args.samples, args.rounds)
            dask(Path(name), args.samples // 4)
        if args.memory or args.only_memory:
            memory(Path(name), args.most)


if __name__ == '__main__':
    main()
