# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags: speed of evaluation against bare reading, memory, and Dask, in one run.

python benchmarks/bags.py                  # speed, and Dask with two local workers
python benchmarks/bags.py --memory         # also memory from 10^4 to 10^6 samples (minutes)
python benchmarks/bags.py --only dask --dask-samples 1000000 --rounds 1
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--samples', type=int, default=200_000)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--memory', action='store_true')
    parser.add_argument('--only', choices=['speed', 'dask', 'memory'])
    parser.add_argument('--storage', choices=['mcap', 'sqlite3'], help='of the bags for speed')
    parser.add_argument('--dask-samples', type=int, default=100_000)
    parser.add_argument('--most', type=int, default=1_000_000, help='samples for --memory')
    parser.add_argument('--child', type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    # Before NumPy: small matrices are faster on one thread, and Dask workers share the cores.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Here and not above, since other processes import its main module as well.
    import bag_measures
    if args.child:
        bag_measures.child(args.child)
        return
    with TemporaryDirectory(prefix='proemlc_bench_') as name:
        folder = Path(name)
        if args.only in (None, 'speed'):
            for storage in [args.storage] if args.storage else ['mcap', 'sqlite3']:
                bag_measures.speed(folder, storage, args.samples, args.rounds)
        if args.only in (None, 'dask'):
            bag_measures.dask(folder, args.dask_samples // bag_measures.PARTS, args.rounds)
        if args.memory or args.only == 'memory':
            bag_measures.memory(folder, args.most)


if __name__ == '__main__':
    main()
