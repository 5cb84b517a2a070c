# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured of bags: speed, memory, and Dask."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.highlevel import AnyReader

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.bags.writer import make_bag
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.compiled import routines
from proemlc_ros.core.ridge import BLOCK
from proemlc_ros.evaluation.annotation_stream import AnnotationStream
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation, evaluate_bags
from proemlc_ros.evaluation.training import DaskBackend, train

# The width of Scene, and the size that the bars speak of.
WIDTH, HIDDEN, LABELS = 294, 500, 6
RELU = {'hidden_size': HIDDEN, 'activation': 'relu', 'scaling': 'none'}
# Shares of the speed of a bare loop that are asked for, by the clock on two free processors.
BARS = {'evaluate, relu': 0.55, 'evaluate, default': 0.4}
# Bags that are trained on with Dask.
PARTS = 4


def samples(count: int, width: int, seed: int = 0) -> Iterator[tuple[np.ndarray, tuple[str, ...]]]:
    """Yield samples with one or two of six labels."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(LABELS, width)).astype(np.float32)
    names = [f'label {number}' for number in range(LABELS)]
    for start in range(0, count, 1000):
        rows = rng.standard_normal((min(1000, count - start), width), dtype=np.float32)
        chosen = rng.integers(0, LABELS, (len(rows), 2))
        shown = np.zeros((len(rows), LABELS), np.float32)
        shown[np.arange(len(rows))[:, np.newaxis], chosen] = 1.0
        for values, places in zip(rows + shown @ centres, chosen.tolist()):
            yield values, tuple(names[place] for place in sorted(set(places)))


def bare_reading(path: Path) -> None:
    """Read and deserialize every message, as the documentation of rosbags shows."""
    with AnyReader([path]) as reader:
        for connection, _, data in reader.messages():
            reader.deserialize(data, connection.msgtype)


def evaluation(path: Path, parallel: bool = True, **settings: Any) -> None:
    """Do what `proemlc evaluate` does."""
    result = evaluate_bags(BagSet([path], parallel=parallel),
                           PrequentialEvaluation(ProEMLC(**settings)), 'benchmark', lambda _: None)
    if result.rejects:
        raise RuntimeError(f'unexpected rejects: {result.rejects}')


def reading(path: Path, **settings: Any) -> None:
    """Do what the second process does: read, validate and match, and work out hidden rows.

    settings: of the model whose hidden rows are wanted; none: they are not.
    """
    with BagReader(path) as bag:
        steps = AnnotationStream().steps(find_sources(bag).stream(bag))
        if not settings:
            deque(steps, maxlen=0)
            return
        first = next(steps)
        model = ProEMLC(**settings)
        model.learn(first.rows, first.labels)
        for block in steps:
            model.layer.rows(block.rows.astype(np.float64))


class Used(NamedTuple):
    """What a job took, in seconds: of the clock, and of this process's processor."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> Used:
        """Return what was used so far."""
        return cls(time.perf_counter(), time.process_time())


def fastest(jobs: dict[str, Callable[[], None]], rounds: int) -> dict[str, Used]:
    """Do jobs in turn; return the least that each took.

    The fastest round is what the code costs on a machine with other work; where that is heavy,
    processor seconds are the fairer figure.
    """
    best: dict[str, Used] = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            before = Used.now()
            job()
            used = Used(*np.subtract(Used.now(), before).tolist())
            best[name] = Used(*map(min, used, best.get(name, used)))
    return best


def bare_products(count: int, block: int = BLOCK) -> None:
    """Do nothing but the matrix products that learning so many samples in blocks needs."""
    blas = routines('float64')
    rng = np.random.default_rng(0)
    rows, weights = rng.random((block, WIDTH)), rng.random((WIDTH, HIDDEN))
    hidden = np.asfortranarray(rng.random((HIDDEN, block)))
    matrix = np.asfortranarray(np.eye(HIDDEN))
    for _ in range(count // block):
        blas.gemm(1.0, weights.T, rows.T)
        products = blas.symm(1.0, matrix, hidden, lower=1)
        inner = blas.gemm(1.0, hidden, products, trans_a=1)
        inner.flat[::block + 1] += 1.0
        factor, _ = blas.potrf(inner, lower=1, overwrite_a=1)
        changes = blas.trsm(1.0, factor, products, side=1, lower=1, trans_a=1, overwrite_b=1)
        blas.syrk(-1e-9, changes, beta=1.0, c=matrix, lower=1, overwrite_c=1)


def with_other_work(job: Callable[[int], None], count: int) -> None:
    """Do a job while another process keeps a second processor busy."""
    other = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        job(count)
    finally:
        other.kill()
        other.wait()


def speed(folder: Path, storage: str, count: int, rounds: int) -> None:
    """Print samples per second of evaluation and of bare reading."""
    path = folder / storage
    make_bag(path, samples(count, WIDTH), storage)
    times = fastest({
        'bare rosbags loop': lambda: bare_reading(path),
        'evaluate, relu': lambda: evaluation(path, **RELU),
        'evaluate, float32': lambda: evaluation(path, **RELU, dtype='float32'),
        'evaluate, default': lambda: evaluation(path, hidden_size=HIDDEN),
        'reading alone': lambda: reading(path),
        'reading, relu rows': lambda: reading(path, **RELU),
        'reading, default rows': lambda: reading(path, hidden_size=HIDDEN),
        'bare BLAS calls': lambda: bare_products(count),
        'BLAS, other busy': lambda: with_other_work(bare_products, count),
    }, rounds)
    bare = times['bare rosbags loop']
    for name, used in times.items():
        bar = f' (bar: >= {BARS[name]:.0%})' if name in BARS else ''
        print(f'{storage:8} {count:,} x {WIDTH} x {HIDDEN}: {name:21} '
              f'{count / used.clock:8,.0f} samples/s, {bare.clock / used.clock:4.0%} of bare '
              f'reading{bar}; {used.processor / count * 1e6:.0f} us of processor time per '
              f'sample, {bare.processor / used.processor:.0%}', flush=True)
    floor = bare.processor / (bare.processor + times['bare BLAS calls'].processor)
    slowed = times['bare BLAS calls'].clock / times['BLAS, other busy'].clock
    print(f'{storage:8} nothing but the BLAS calls and bare reading would give {floor:.0%} on '
          f'one core; with a second busy process the BLAS calls run at {slowed:.0%} of their '
          'speed (100 %: two whole cores)', flush=True)


def memory(folder: Path, most: int) -> None:
    """Print the highest memory of evaluation over short and long bags."""
    peaks = {}
    for count in (10_000, 100_000, 1_000_000):
        if count > most:
            break
        path = folder / f'memory_{count}'
        make_bag(path, samples(count, 8), 'sqlite3')
        output = subprocess.run(
            [sys.executable, str(Path(__file__).with_name('bags.py')), '--child', str(path)],
            check=True, capture_output=True, text=True).stdout
        peaks[count] = int(output) / 1024
        print(f'memory of evaluate at {count:9,} samples: {peaks[count]:.1f} MiB, '
              f'{peaks[count] - peaks[10_000]:+.1f} (bar: flat to 1,000,000)', flush=True)


def child(path: Path) -> None:
    """Evaluate one bag and print the highest memory in KiB."""
    # In one process, so that short and long bags are read alike.
    evaluation(path, parallel=False, hidden_size=50, activation='relu', scaling='none')
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def dask(folder: Path, count: int, rounds: int, bags: int = PARTS) -> None:
    """Print the time of training on a running cluster of two local workers and in one process."""
    paths = []
    for number in range(bags):
        paths.append(folder / f'part_{number}')
        make_bag(paths[-1], samples(count, WIDTH, seed=number))
    parts = BagSet(paths)
    backend = DaskBackend(workers=2)
    try:
        results: dict[str, ProEMLC] = {}
        worked: list[float] = []

        def one_process() -> None:
            results['one'] = train(parts, RELU)[0]

        def two_workers() -> None:
            before = backend.client.run(time.process_time)
            results['two'] = train(parts, RELU, backend=backend)[0]
            after = backend.client.run(time.process_time)
            worked.append(max(after[worker] - before[worker] for worker in after))

        times = fastest({'one': one_process, 'two': two_workers}, rounds)
    finally:
        backend.close()
    rows = [values for values, _ in samples(100, WIDTH, seed=77)]
    difference = np.abs(results['one'].scores(rows) - results['two'].scores(rows)).max()
    total, one, two = count * bags, times['one'], times['two']
    print(f'train, {bags} bags of {count:,} samples: one process '
          f'{total / one.clock:,.0f} samples/s, Dask with 2 workers {total / two.clock:,.0f} '
          f'samples/s ({one.clock / two.clock:.2f}x, bar: >= 1.6x with 10^6 samples); processor '
          f'time: one process {one.processor:.1f} s, the busier worker {min(worked):.1f} s, its '
          f'client {two.processor:.1f} s; scores differ by {difference:.1e} (bar: 1e-8)')
