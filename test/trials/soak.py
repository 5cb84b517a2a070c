# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A day of a classifier in minutes: whether what it holds, memory above all, goes on growing.

    python test/trials/soak.py --vectors 1000000 --annotations 100000

A classifier node gets vectors as fast as it answers, annotations of them, and now and then undos,
a saved model, a renewal that was asked for beside those that are due by themselves, and a reset,
which begins the next of ten lives. The limit of the journal is reached in the first life, so that
files are dropped all the time. Memory, descriptors, threads and disk are sampled throughout. The
first two lives are left out; medians and peaks of the last quarter of the others are compared with
those of the first. Every saved model must have each sample once. Set a ROS_DOMAIN_ID that nobody
else uses.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ros_process import RosProcess
from soak_operator import SoakOperator
from soak_usage import Usage

from proemlc_ros.core import ProEMLC

LIVES = 10
JOURNAL_LIMIT_MB = 8
# Vectors that are on their way at the same time; fewer than DDS holds, so that none is lost.
BLOCK = 50
SAMPLES = 600
UNDO_EVERY, UNDOS, SAVE_EVERY, RENEW_AT = 1_000, 20, 2_500, 2_400
SETTINGS = {'journal_limit_mb': JOURNAL_LIMIT_MB, 'max_annotation_rate': 0.0,
            'renewal_hidden_size': 200}


class Soak:
    """Sends everything, and keeps the books.

    Attributes:
        counts: how often each thing was done.
    """

    def __init__(self, operator: SoakOperator, usage: Usage, vectors: int,
                 annotations: int) -> None:
        self.counts: Counter[str] = Counter()
        self._operator, self._usage = operator, usage
        self._blocks = vectors // BLOCK
        self._per_block = max(annotations * BLOCK // vectors, 1)
        # Of the present life: annotations taught, those undone, and what comes at which number.
        self._taught = self._undone = 0
        self._scale = annotations / LIVES / 10_000

    def run(self) -> None:
        """Go through all lives."""
        for block in range(self._blocks):
            self._operator.send_block(block * BLOCK, BLOCK, self._per_block)
            before, self._taught = self._taught, self._taught + self._per_block
            self._do_now_and_then(before)
            if (block + 1) * LIVES // self._blocks > block * LIVES // self._blocks:
                self._end_life()
            if block % max(self._blocks // SAMPLES, 1) == 0:
                self._usage.sample(block * LIVES // self._blocks)
                print(f'{(block + 1) * BLOCK} vectors: {self._usage.rows[-1]}', flush=True)
        self.counts.update(self._operator.counts)

    def _do_now_and_then(self, before: int) -> None:
        def passed(every: int) -> bool:
            every = max(round(every * self._scale), 1)
            return self._taught // every > before // every
        if passed(UNDO_EVERY):
            for _ in range(round(UNDOS * min(self._scale, 1.0)) or 1):
                self._call('undo', 'undos')
                self._undone += 1
        if passed(SAVE_EVERY):
            self._save()
        if before < RENEW_AT * self._scale <= self._taught:
            self._call('renew', 'renewals asked for')

    def _save(self) -> Path:
        """Save the model, and check that it has each sample once."""
        self._call('save_model', 'saves', file_name='soak.npz')
        path = self._usage.folder / 'soak.npz'
        samples, expected = ProEMLC.load(path).samples, self._taught - self._undone
        assert samples == expected, f'{samples} samples, not {expected}'
        return path

    def _end_life(self) -> None:
        self._save()
        self._call('reset', 'resets')
        self._taught = self._undone = 0

    def _call(self, service: str, name: str, **fields: object) -> None:
        self._operator.wait_until_learnt()
        answer = self._operator.call(service, **fields)
        assert answer.success, f'{service}: {answer.message}'
        self.counts[name] += 1
        if service == 'renew':
            print(answer.message, flush=True)


def main() -> int:
    """Run the trial from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--vectors', type=int, default=1_000_000)
    parser.add_argument('--annotations', type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ['classifier_node', '--ros-args', '-p', f'model_directory:={folder / "model"}']
        for parameter, value in SETTINGS.items():
            command += ['-p', f'{parameter}:={value}']
        with RosProcess(command, folder) as node:
            operator = SoakOperator()
            usage = Usage(node.process.pid, folder / 'model')
            soak = Soak(operator, usage, options.vectors, options.annotations)
            began = time.monotonic()
            try:
                soak.run()
            finally:
                operator.close()
                print('\n'.join(line for line in node.output.splitlines()
                                if 'ERROR' in line or 'WARN' in line))
            seconds = time.monotonic() - began
            renewals = node.output.count('The model was renewed')
    counts = {**soak.counts, 'renewals by themselves': renewals,
              'journal files dropped': usage.dropped_files}
    print(json.dumps({'counts': counts, 'seconds': round(seconds), 'lives': usage.lives(),
                      'quarters': usage.quarters()}, indent=1))
    growing = usage.growing()
    print(f'growing: {", ".join(growing) or "nothing"}')
    return 1 if growing else 0


if __name__ == '__main__':
    sys.exit(main())
