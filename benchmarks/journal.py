# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts from a journal, and corrections in it: seconds on one core.

python benchmarks/journal.py                  # 10^5 entries of 64 features, 500 hidden neurons
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proemlc_ros.classifier.durable_model import DurableModel


def main() -> None:
    """Write a journal, resume from it, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--entries', type=int, default=100_000)
    parser.add_argument('--width', type=int, default=64)
    parser.add_argument('--labels', type=int, default=20)
    parser.add_argument('--partial', type=float, default=0.0, help='share that is not complete')
    args = parser.parse_args()
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # Before NumPy.
    with TemporaryDirectory(prefix='proemlc_bench_') as name:
        write(Path(name), args)
        for start in ('from the journal alone', 'with a snapshot'):
            durable = resume_from(Path(name), start)
            durable.snapshot()
            durable.journal.close()
            durable.directory.close()
        correct(resume_from(Path(name), 'with a snapshot'))


def write(folder: Path, args: argparse.Namespace) -> None:
    """Write the journal."""
    import numpy as np

    from proemlc_ros.journal.journal import Journal
    from proemlc_ros.records import Annotation
    dice = np.random.default_rng(1)
    journal = Journal(folder / 'journal')
    began = time.perf_counter()
    for first in range(0, args.entries, 1000):
        values = dice.normal(size=(1000, args.width)).astype(np.float32)
        chosen = dice.integers(args.labels, size=(1000, 2))
        complete = dice.random(1000) >= args.partial
        journal.append([
            Annotation(first + place + 1, tuple({f'label {number}' for number in chosen[place]}),
                       complete=bool(complete[place]), features=values[place])
            for place in range(min(1000, args.entries - first))])
    size = journal.size / 1e6
    journal.close()
    print(f'{args.entries} entries of {args.width} features, {size:.0f} MB, written in '
          f'{time.perf_counter() - began:.1f} s')


def resume_from(folder: Path, start: str) -> DurableModel:
    """Resume a model and print the time."""
    from proemlc_ros.classifier.durable_model import DurableModel
    from proemlc_ros.classifier.model_directory import ModelDirectory
    from proemlc_ros.classifier.resume import resume
    from proemlc_ros.classifier.versioned_model import VersionedModel
    from proemlc_ros.core import ProEMLC
    from proemlc_ros.journal.journal import Journal
    directory = ModelDirectory(folder)
    began, used = time.perf_counter(), time.process_time()
    journal = Journal(directory.journal)
    opened = time.perf_counter() - began
    durable = DurableModel(VersionedModel(ProEMLC()), ProEMLC, directory, journal)
    report = resume(durable)
    print(f'{start}: opened and proven in {opened:.2f} s, resumed in '
          f'{time.perf_counter() - began:.2f} s ({time.process_time() - used:.2f} s of processor '
          f'time): {report.replayed} entries')
    return durable


def correct(durable: DurableModel) -> None:
    """Relabel samples in the middle of the journal, then undo the last annotations."""
    from proemlc_ros.records import Correction
    numbers = list(durable.table.samples)
    middle = numbers[len(numbers) // 2:][:10]
    relabel = [timed(partial(durable.make, durable.plans.correct(
        [Correction(number, ('label 3',))]))) for number in middle]
    undo = [timed(durable.undo) for _ in middle]
    for what, times in (('relabel', relabel), ('undo', undo)):
        print(f'{what} among {len(numbers)}: median {median(times) * 1e3:.1f} ms, first '
              f'{times[0] * 1e3:.1f} ms')


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


if __name__ == '__main__':
    main()
