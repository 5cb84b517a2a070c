# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A classifier node under random operations, faults and hostile peers, for as long as wanted.

    python test/trials/random_lives.py --minutes 60 --seed 7

An operator teaches, relabels, deletes, renames, merges, undoes and redoes by the services. A peer
sends what no node should. Each life of the node ends at random: by kill -9, by SIGTERM, by a kill
after a stop of some seconds, or by a kill on a full disk (where mounting is permitted); after it
the folder may be damaged in a way that must cost nothing. Then the journal must have every
acknowledged request as often as it must, no request twice and nothing of the peer, and the model
must equal one that is taught the samples in force. Set a ROS_DOMAIN_ID that nobody else uses. The
seed gives the same operations and faults, not the same moments.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import node_corrections
from correction_kills import SETTINGS, WIDTH, difference, new_learner
from kill_harness import DAMAGES, NodeLives, open_durable
from node_corrections import NAMES, Corrector, Request, compare
from proemlc_ros.msg import FeatureVector, LabelAnnotation
from proemlc_ros.srv import MergeLabels, RenameLabel

from proemlc_ros.records import EventKind

node_corrections.SERVICES.update(rename_label=RenameLabel, merge_labels=MergeLabels)
# Of the actions, how many are about labels.
LABEL_ACTIONS = 0.1
# Annotations and vectors that the peer sends per life.
HOSTILE = 40


class LabelRequest(Request):
    """A request about labels."""

    def matches(self, record: Any) -> bool:
        kind = EventKind.RENAME if self.action == 'rename' else EventKind.MERGE_LABELS
        return record.kind is kind and record.label == self.fields['label']


class Operator(Corrector):
    """Also renames and merges labels; a peer of bad manners sends beside it."""

    def __init__(self, context: Any, width: int, seed: int) -> None:
        super().__init__(context, width, seed)
        self._annotations = self._node.create_publisher(
            LabelAnnotation, '/proemlc/annotations', 100)
        self._vectors = self._node.create_publisher(FeatureVector, '/proemlc/features', 100)
        self.hostile = 0

    def _act(self, seconds: float) -> None:
        if self.hostile % HOSTILE or self._dice.random() < 0.2:
            self._misbehave()
        if self._dice.random() > LABEL_ACTIONS or len(self.requests) < 30:
            super()._act(seconds)
            return
        action = self._dice.choice(['rename', 'merge'])
        label, other = self._dice.sample(NAMES, 2)
        fields = {'new_label': f'label {self._dice.randint(0, 9)}'} if action == 'rename' else {
            'into': other}
        tag = self._new(action, 'rename_label' if action == 'rename' else 'merge_labels',
                        label=label, **fields)
        self.requests[tag] = LabelRequest(action, self.requests[tag].service,
                                          self.requests[tag].fields)
        self._send([tag])

    def _misbehave(self) -> None:
        """Send something that is beyond the bounds."""
        self.hostile += 1
        bad = self._dice.choice(['a\x1b[2J', 'x' * 5000, '\u202e', '', 'a\nb'])
        values = array('f', self._dice.choice([
            [float('nan')] * WIDTH, [float('inf')] * WIDTH, [0.0] * (WIDTH + 1), [], [1e38]]))
        self._annotations.publish(LabelAnnotation(
            labels=[bad], features=values, annotator='peer', extractor=bad))
        message = FeatureVector(data=values, extractor=bad, source_topic=bad)
        message.region.size_x = self._dice.choice([-1.0, float('nan'), float('inf')])
        self._vectors.publish(message)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[bool], None]]:
    """Mount a disk on a folder where that is permitted; yield what fills or frees it."""
    folder.mkdir()
    mounted = not subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', folder],
                                 capture_output=True).returncode
    filler = folder / 'filler'

    def fill(full: bool) -> None:
        if not full or not mounted:
            filler.unlink(missing_ok=True)
            return
        with contextlib.suppress(OSError), filler.open('wb', buffering=0) as stream:
            while True:
                stream.write(bytes(65536))
    try:
        yield fill
    finally:
        if mounted:
            subprocess.run(['umount', '-l', folder], check=True)


class Lives:
    """The lives of one node, and what was counted.

    Args:
        folder: to work in.
        context: of rclpy.
        seed: of operations and faults.
    """

    def __init__(self, folder: Path, context: Any, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.memory: list[float] = []
        self.descriptors: list[int] = []
        self.worst = 0.0
        self._folder = folder
        self._dice = random.Random(seed)
        self._operator = Operator(context, WIDTH, seed)
        self._lives = NodeLives(folder / 'model', snapshot_every=15, max_annotation_rate=0.0,
                                **SETTINGS)

    def run(self, minutes: float, fill: Callable[[bool], None]) -> None:
        """Live for so long, at least once with each fault."""
        end = time.monotonic() + 60 * minutes
        faults = [self._kill, self._terminate, self._stop_and_kill, lambda: self._full(fill)]
        while time.monotonic() < end or len(self.memory) < len(faults):
            fault = faults[len(self.memory)] if len(self.memory) < len(faults) else (
                self._dice.choice(faults))
            self._lives.start()
            self._operator.work(0.5 + self._dice.random() * 4.0, fault)
            fill(False)
            damage = self._dice.choice(DAMAGES)
            if fault != self._terminate:
                self.counts[damage.__name__] += 1
                damage(self._folder / 'model', self._dice)
            self._check()

    def _check(self) -> None:
        durable = open_durable(self._folder / 'model', new_learner)
        try:
            lost, twice = compare(self._operator.requests, durable.journal.entries())
            assert (lost, twice) == (0, 0), f'{lost} lost, {twice} twice: {self.counts}'
            self.worst = max(self.worst, difference(durable))
            assert self.worst <= 1e-8, f'scores differ by {self.worst}'
        finally:
            durable.directory.close()

    def _process(self) -> Any:
        assert self._lives.process is not None
        process = self._lives.process.process
        status = Path(f'/proc/{process.pid}/status').read_text().split('VmRSS:')[1]
        self.memory.append(int(status.split()[0]) / 1000)
        self.descriptors.append(len(os.listdir(f'/proc/{process.pid}/fd')))
        return process

    def _kill(self) -> None:
        self.counts['kills'] += 1
        self._process().kill()
        self._lives.kill()

    def _terminate(self) -> None:
        self.counts['SIGTERM'] += 1
        self._process()
        assert self._lives.process is not None
        assert self._lives.process.stop(signal.SIGTERM) == 0, self._lives.output

    def _stop_and_kill(self) -> None:
        self.counts['stops'] += 1
        process = self._process()
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.0)
        process.send_signal(signal.SIGCONT)
        self._kill()
        self.memory.pop()
        self.descriptors.pop()

    def _full(self, fill: Callable[[bool], None]) -> None:
        self.counts['full disks'] += 1
        fill(True)
        self._kill()

    def report(self) -> str:
        """Return what was done and found, in one line."""
        done = self._operator.counts
        acknowledged = sum(count for name, count in done.items()
                           if name not in ('unanswered', 'rejected'))
        quarters = [f'{np.median(part):.0f}' for part in np.array_split(self.memory, 4)]
        return (f'{len(self.memory)} lives ({_counted(self.counts)}); {acknowledged} requests '
                f'acknowledged ({_counted(done)}), {self._operator.hostile} hostile messages; '
                f'none lost, none twice; scores within {self.worst:.1e}; memory by quarter '
                f'{", ".join(quarters)} MB, at most {max(self.descriptors)} descriptors')


def _counted(counts: Counter[str]) -> str:
    return ', '.join(f'{count} {name}' for name, count in sorted(counts.items()))


def main() -> int:
    import rclpy
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=60.0)
    parser.add_argument('--seed', type=int, default=7)
    arguments = parser.parse_args()
    rclpy.init()
    with tempfile.TemporaryDirectory() as scratch, small_disk(Path(scratch, 'disk')) as fill:
        lives = Lives(Path(scratch, 'disk'), rclpy.get_default_context(), arguments.seed)
        lives.run(arguments.minutes, fill)
        print(f'seed {arguments.seed}: {lives.report()}', flush=True)
    # Without taking the node down: see correction_kills.py.
    os._exit(0)


if __name__ == '__main__':
    sys.exit(main())
