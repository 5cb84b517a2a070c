# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Damage to a model directory, by chance and many times: what held, what was said, what was lost.

    python test/trials/journal_trials.py --rounds 1000

judge.py says what counts as which, damage.py and failing_disk.py what is done to the directory.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from damage import KINDS
from failing_disk import run_failing_disk, run_small_disk
from judge import Judge


def run_damage(rounds: int, scratch: Path, seed: int = 1,
               only: str = '') -> dict[str, Counter[str]]:
    """Do that many rounds of each kind; only: of those whose name has this in it.

    Returns:
        Counts of held, said and lost by kind.
    """
    judge, dice = Judge(scratch), Random(seed)
    counts: dict[str, Counter[str]] = {}
    for kind, (hurt, snapshots) in KINDS.items():
        if only not in kind:
            continue
        counts[kind] = Counter()
        for number in range(rounds):
            folder = judge.copy(f'{number}', snapshots)
            hurt(dice, folder)
            verdict, reason = judge.judge(folder, snapshots)
            counts[kind][verdict] += 1
            if verdict == 'lost':
                print(f'{kind}, round {number}: {reason}')
            shutil.rmtree(folder)
        print(f'{kind}: {dict(counts[kind])}', flush=True)
    return counts


def show(counts: dict[str, Counter[str]]) -> int:
    """Print the counts and return how many were lost."""
    print(f'{"damage":42} {"rounds":>7} {"held":>6} {"said":>6} {"lost":>6}')
    for kind, found in counts.items():
        print(f'{kind:42} {found.total():7} {found["held"]:6} {found["said"]:6} '
              f'{found["lost"]:6}')
    return sum(found['lost'] for found in counts.values())


def main() -> int:
    """Run the trials from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=1000, help='of each kind of damage')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='', metavar='TEXT',
                        help='kinds with this in their name; no failing disk')
    args = parser.parse_args()
    folder = '/dev/shm' if Path('/dev/shm').is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        counts: dict[str, Counter[str]] = {}
        if not args.only:
            counts = run_failing_disk(Path(scratch))
            counts.update(run_small_disk(Path(scratch)))
        counts.update(run_damage(args.rounds, Path(scratch), args.seed, args.only))
    return 1 if show(counts) else 0


if __name__ == '__main__':
    raise SystemExit(main())
