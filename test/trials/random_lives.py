# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A classifier node under random operations, faults and hostile peers, for as long as wanted.

    python test/trials/random_lives.py --minutes 60 --seed 7
    python test/trials/random_lives.py --replay FILE

An operator teaches, relabels, deletes, renames, merges, undoes and redoes by the services. A peer
sends what no node should. Each life of the node ends at random: by kill -9, by SIGTERM, by a kill
after a stop of some seconds, or by a kill on a full disk (where mounting is permitted); after it
the folder may be damaged in a way that must cost nothing. Then the journal must have every
acknowledged request as often as it must, no request twice and nothing of the peer, and the model
must equal one that is taught the samples in force. Set a ROS_DOMAIN_ID that nobody else uses.

What is drawn is a list of steps, in which each life ends with an `end`. When a life fails, lists
that leave parts out are run by themselves, and the shortest one that still fails is printed, and
left in a file that --replay runs. Steps have the same moments as before only nearly: where all of
them pass, that is said.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import kill_harness
import node_corrections
from correction_kills import SETTINGS, WIDTH, difference, new_learner
from kill_harness import DAMAGES, NodeLives, leave_alone, open_durable
from node_corrections import NAMES, Corrector, Request, Step, compare
from proemlc_ros.msg import FeatureVector, LabelAnnotation
from proemlc_ros.srv import MergeLabels, RenameLabel

from proemlc_ros.records import EventKind

node_corrections.SERVICES.update(rename_label=RenameLabel, merge_labels=MergeLabels)
# Of the steps, how many are the peer's, and how many of the others are about labels.
HOSTILE, LABEL_ACTIONS = 0.3, 0.1
LABEL_SERVICES = {'rename': ('rename_label', 'new_label'), 'merge': ('merge_labels', 'into')}
FAULTS = ('kill', 'SIGTERM', 'stop', 'full disk')
TEXTS = ('a\x1b[2J', 'x' * 5000, '\u202e', '', 'a\nb')
VECTORS = ([float('nan')] * WIDTH, [float('inf')] * WIDTH, [0.0] * (WIDTH + 1), [], [1e38])
SIZES = (-1.0, float('nan'), float('inf'))


def draw(dice: random.Random, number: int, samples: int, redo: bool) -> Step:
    """Draw a step of the operator or the peer."""
    if dice.random() < HOSTILE:
        return ['misbehave', *(dice.randrange(len(one)) for one in (TEXTS, VECTORS, SIZES))]
    if number <= 30 or dice.random() > LABEL_ACTIONS:
        return node_corrections.draw(dice, number, samples, redo)
    label, other = dice.sample(NAMES, 2)
    return dice.choice([['merge', label, other],
                        ['rename', label, f'label {dice.randint(0, 9)}']])


def draw_end(dice: random.Random, life: int) -> Step:
    """Draw how a life ends: fault, seconds to it, damage and the seed of that."""
    fault = FAULTS[life] if life < len(FAULTS) else dice.choice(FAULTS)
    damage = dice.choice(DAMAGES) if fault != 'SIGTERM' else leave_alone
    return ['end', fault, 0.5 + dice.random() * 4.0, damage.__name__, dice.getrandbits(32)]


def shrink(steps: list[Step], fails: Callable[[list[Step]], bool]) -> list[Step]:
    """Return the shortest list found that fails; all steps, where no replay does.

    Args:
        steps: that failed once.
        fails: runs a list.
    """
    size = 16
    while not fails(steps[-size:]):
        if size >= len(steps):
            return steps
        size *= 2
    steps = steps[-size:]
    size = len(steps) // 2
    while size:
        before, place = len(steps), 0
        while place < len(steps):
            rest = steps[:place] + steps[place + size:]
            if rest and fails(rest):
                steps = rest
            else:
                place += size
        # Single steps until each is needed.
        size = size // 2 if size > 1 or len(steps) == before else 1
    return steps


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

    def _draw(self, samples: int, redo: bool) -> Step:
        return draw(self._dice, len(self.requests) + 1, samples, redo)

    def _perform(self, step: Step, history: Any) -> None:
        action, *words = step
        if action == 'misbehave':
            self._misbehave(TEXTS[words[0]], array('f', VECTORS[words[1]]), SIZES[words[2]])
        elif action in ('rename', 'merge'):
            service, field = LABEL_SERVICES[action]
            tag = self._new(action, service, label=words[0], **{field: words[1]})
            self.requests[tag] = LabelRequest(action, self.requests[tag].service,
                                              self.requests[tag].fields)
            self._send([tag])
        else:
            super()._perform(step, history)

    def _misbehave(self, text: str, values: array[float], size: float) -> None:
        """Send something that is beyond the bounds."""
        self.hostile += 1
        self._annotations.publish(LabelAnnotation(
            labels=[text], features=values, annotator='peer', extractor=text))
        message = FeatureVector(data=values, extractor=text, source_topic=text)
        message.region.size_x = size
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
        fill: fills its disk, or frees it.
        context: of rclpy.
        seed: of operations and faults.
    """

    def __init__(self, folder: Path, fill: Callable[[bool], None], context: Any,
                 seed: int) -> None:
        self.steps: list[Step] = []
        self.counts: Counter[str] = Counter()
        self.memory: list[float] = []
        self.descriptors: list[int] = []
        self.worst = 0.0
        self._folder = folder
        self._fill = fill
        self._dice = random.Random(seed)
        self._operator = Operator(context, WIDTH, seed)
        self._lives = NodeLives(folder / 'model', snapshot_every=15, max_annotation_rate=0.0,
                                **SETTINGS)

    def run(self, minutes: float) -> None:
        """Live for so long, at least once with each fault."""
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end or len(self.memory) < len(FAULTS):
            self._live(draw_end(self._dice, len(self.memory)))
            if len(self.memory) % 20 == 0:
                print(self.report(), flush=True)

    def repeat(self, steps: list[Step]) -> None:
        """Do steps again; the last life ends, whether that is among them or not."""
        life: list[Step] = []
        for step in [*steps, ['end', 'kill', 0.5, 'leave_alone', 0]]:
            if step[0] == 'end':
                self._live(step, life)
                life = []
            else:
                life.append(step)

    def _live(self, end: Step, again: list[Step] | None = None) -> None:
        """Start the node, work, end it, damage the folder and check it."""
        _, fault, seconds, damage, seed = end
        self._lives.start()
        try:
            self._operator.work(seconds, lambda: self._end(fault), again)
        finally:
            self.steps += [*self._operator.steps,
                           ['end', fault, self._operator.overrun, damage, seed]]
        self._fill(False)
        self.counts[damage] += 1
        getattr(kill_harness, damage)(self._folder / 'model', random.Random(seed))
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

    def _end(self, fault: str) -> None:
        assert self._lives.process is not None
        process = self._lives.process.process
        self.counts[fault] += 1
        status = Path(f'/proc/{process.pid}/status').read_text().split('VmRSS:')[1]
        self.memory.append(int(status.split()[0]) / 1000)
        self.descriptors.append(len(os.listdir(f'/proc/{process.pid}/fd')))
        if fault == 'SIGTERM':
            assert self._lives.process.stop(signal.SIGTERM) == 0, self._lives.output
            return
        if fault == 'stop':
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.0)
            process.send_signal(signal.SIGCONT)
        self._fill(fault == 'full disk')
        self._lives.kill()

    def close(self) -> None:
        """End the node where it runs still."""
        if self._lives.process is not None:
            self._lives.kill()

    def report(self) -> str:
        """Return what was done and found, in one line."""
        done = self._operator.counts
        acknowledged = sum(count for name, count in done.items()
                           if name not in ('unanswered', 'rejected'))
        return (f'{len(self.memory)} lives ({_counted(self.counts)}); {acknowledged} requests '
                f'acknowledged ({_counted(done)}), {self._operator.hostile} hostile messages; '
                f'none lost, none twice; scores within {self.worst:.1e}; by quarter '
                f'{_quarters(self.memory)} MB, {_quarters(self.descriptors)} descriptors, at most '
                f'{max(self.memory):.0f} MB, {max(self.descriptors)} descriptors')


def _counted(counts: Counter[str]) -> str:
    return ', '.join(f'{count} {name}' for name, count in sorted(counts.items()))


def _quarters(values: list[Any]) -> str:
    return ', '.join(f'{np.median(part):.0f}' for part in np.array_split(values, 4))


def write_steps(path: Path, steps: list[Step]) -> None:
    """Write steps, one a line."""
    path.write_text(''.join(json.dumps(step) + '\n' for step in steps), encoding='utf-8')


def what_failed(output: str) -> str:
    """Return the last line of a traceback without numbers and details; empty: nothing failed."""
    lines = re.findall(r'^\w*Error: .*', output, re.MULTILINE)
    return re.sub(r'\d+', '', lines[-1].removeprefix('AssertionError: ')).split(':')[0] if (
        lines) else ''


def shortest(steps: list[Step], failure: str, path: Path, replays: int, minutes: float) -> str:
    """Shrink steps that failed into a file, by processes of their own; return what came of it."""
    end, tried = time.monotonic() + 60 * minutes, 0
    found: list[Step] = []

    def fails(some: list[Step]) -> bool:
        nonlocal tried, found
        if tried == replays or time.monotonic() > end:
            return False
        tried += 1
        write_steps(path, some)
        done = subprocess.run([sys.executable, __file__, '--replay', path], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode and what_failed(done.stdout) == failure:
            found = some
        return found is some
    shrink(steps, fails)
    write_steps(path, found or steps)
    if not found:
        return (f'{tried} replays did not fail so: it may depend on the moment; all {len(steps)} '
                f'steps are in {path}')
    return (f'{len(found)} of {len(steps)} steps fail still, after {tried} replays, in {path}:\n'
            + path.read_text(encoding='utf-8'))


def main() -> int:
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=60.0)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--replay', type=Path, help='file of steps to do again')
    parser.add_argument('--shrink-replays', type=int, default=100, help='at most; 0: none')
    parser.add_argument('--shrink-minutes', type=float, default=30.0, help='at most')
    arguments = parser.parse_args()
    # An interrupt ends the trial; it is no failure.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    failure = ''
    with tempfile.TemporaryDirectory() as scratch, small_disk(Path(scratch, 'disk')) as fill:
        lives = Lives(Path(scratch, 'disk'), fill, rclpy.get_default_context(), arguments.seed)
        try:
            if arguments.replay:
                lines = arguments.replay.read_text(encoding='utf-8').splitlines()
                lives.repeat([json.loads(line) for line in lines])
            else:
                lives.run(arguments.minutes)
            print(f'seed {arguments.seed}: {lives.report()}', flush=True)
        except Exception:
            failure = traceback.format_exc()
            print(failure, flush=True)
        finally:
            lives.close()
    if failure and not arguments.replay:
        path = Path(tempfile.gettempdir(), f'random_lives_{arguments.seed}.steps')
        print(shortest(lives.steps, what_failed(failure), path, arguments.shrink_replays,
                       arguments.shrink_minutes), flush=True)
    # Without taking the node down: see correction_kills.py.
    os._exit(bool(failure))


if __name__ == '__main__':
    sys.exit(main())
