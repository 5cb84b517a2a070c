# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Start from the journal alone: seconds to prove, read and learn all entries on one core.

python benchmarks/journal.py                  # 10^5 entries of 64 features, 500 hidden neurons
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory


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
        resume_from(Path(name))


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


def resume_from(folder: Path) -> None:
    """Resume a model from the journal alone."""
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
    print(f'opened and proven in {opened:.1f} s, resumed in {time.perf_counter() - began:.1f} s '
          f'({time.process_time() - used:.1f} s of processor time): {report.replayed} entries')


if __name__ == '__main__':
    main()
