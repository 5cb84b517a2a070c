# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A day of a classifier in minutes: whether what it holds, memory above all, goes on growing.

    python test/trials/soak.py --vectors 1000000 --annotations 100000

A classifier node with its default settings (and a limit on the journal, as on a robot that runs
for years) gets vectors as fast as it answers, annotations of them, and now and then an undo, a
saved model and a renewal. Memory, descriptors, threads and disk are sampled all the time; what
they are in the last quarter is compared with the second. Set a ROS_DOMAIN_ID that nobody else
uses.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / 'nodes'))

from classifier_partner import ClassifierPartner
from ros_process import RosProcess

WIDTH, LABELS = 64, 12
JOURNAL_LIMIT_MB = 20
# Vectors that may be on their way; fewer than DDS holds, so that none is lost.
WINDOW = 4
SAMPLES = 200
UNDO_EVERY, SAVE_EVERY, RENEW_EVERY = 50, 5_000, 20_000
# Growth from the second quarter to the last that is still called flat.
TOLERANCE = 0.05


class Usage:
    """What a process holds, sampled over time."""

    def __init__(self, process_id: int, folder: Path) -> None:
        self._process = Path(f'/proc/{process_id}')
        self._folder = folder
        self.rows: list[dict[str, float]] = []

    def sample(self) -> None:
        """Take one sample."""
        status = dict(line.split(':', 1) for line in
                      (self._process / 'status').read_text().splitlines())
        self.rows.append({
            'memory_mb': int(status['VmRSS'].split()[0]) / 1024,
            'descriptors': len(os.listdir(self._process / 'fd')),
            'threads': int(status['Threads']),
            'disk_mb': sum(path.stat().st_size for path in self._folder.rglob('*')
                           if path.is_file()) / 2**20})

    def quarters(self) -> dict[str, list[float]]:
        """Return the median of each quarter, by what was sampled."""
        parts = np.array_split(np.arange(len(self.rows)), 4)
        return {name: [round(median(self.rows[place][name] for place in part), 1)
                       for part in parts] for name in self.rows[0]}


def stream(width: int) -> Callable[[int], tuple[np.ndarray, list[str]]]:
    """Return a function from the number of a sample to its vector and its labels."""
    centres = np.random.default_rng(0).normal(size=(LABELS, width))

    def sample(number: int) -> tuple[np.ndarray, list[str]]:
        random = np.random.default_rng(number)
        shown = random.choice(LABELS, size=1 + number % 2, replace=False)
        values = centres[shown].sum(axis=0) + random.normal(scale=0.3, size=width)
        return values.astype(np.float32), [f'label {place}' for place in shown]
    return sample


def soak(partner: ClassifierPartner, usage: Usage, vectors: int, annotations: int) -> dict:
    """Send everything; return how often each thing was done."""
    sample, every = stream(WIDTH), max(vectors // max(annotations, 1), 1)
    counts = dict.fromkeys(('vectors', 'annotations', 'undos', 'saves', 'renewals'), 0)
    has_renewal = '/proemlc/renew' in dict(partner.node.get_service_names_and_types())
    for number in range(1, vectors + 1):
        values, labels = sample(number)
        partner.send(float(number), values)
        counts['vectors'] += 1
        if number % WINDOW == 0:
            wait_for_prediction(partner, number)
        if number % every == 0:
            response = partner.annotate(float(number), labels)
            assert response.success, response.message
            counts['annotations'] += 1
            do_now_and_then(partner, counts, has_renewal)
        if number % max(vectors // SAMPLES, 1) == 0:
            usage.sample()
            print(f'{number} vectors: {usage.rows[-1]}', flush=True)
    return counts


def wait_for_prediction(partner: ClassifierPartner, number: int) -> None:
    """Wait until the vector of that number is classified; forget what was heard."""
    heard = partner.heard['predictions']
    partner.spin_until(lambda: heard and heard[-1].header.stamp.sec >= number, 60.0,
                       f'prediction {number}')
    for messages in partner.heard.values():
        messages.clear()


def do_now_and_then(partner: ClassifierPartner, counts: dict, has_renewal: bool) -> None:
    """Undo, save and renew, each after so many annotations."""
    taught = counts['annotations']
    if taught % UNDO_EVERY == 0:
        assert partner.call('undo').success
        counts['undos'] += 1
    if taught % SAVE_EVERY == 0:
        assert partner.call('save_model', file_name='soak.npz').success
        counts['saves'] += 1
    if has_renewal and taught % RENEW_EVERY == 0:
        partner.call('renew', timeout=300.0)
        counts['renewals'] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--vectors', type=int, default=1_000_000)
    parser.add_argument('--annotations', type=int, default=100_000)
    options = parser.parse_args()
    import rclpy
    context = rclpy.Context()
    context.init()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ['classifier_node', '--ros-args', '-p', f'model_directory:={folder / "model"}',
                   '-p', f'journal_limit_mb:={JOURNAL_LIMIT_MB}', '-p', 'max_annotation_rate:=0.0']
        with RosProcess(command, folder) as node:
            partner = ClassifierPartner(context).wait_until_ready()
            usage = Usage(node.process.pid, folder / 'model')
            began = time.monotonic()
            counts = soak(partner, usage, options.vectors, options.annotations)
            seconds = time.monotonic() - began
            partner.close()
    context.shutdown()
    quarters = usage.quarters()
    print(json.dumps({'counts': counts, 'seconds': round(seconds), 'quarters': quarters}))
    growing = [what for what, (_, second, _, last) in quarters.items()
               if last > second * (1.0 + TOLERANCE)]
    print(f'growing: {", ".join(growing) or "nothing"}')
    return 1 if growing else 0


if __name__ == '__main__':
    sys.exit(main())
