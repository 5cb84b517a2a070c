# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes annotations to a classifier as fast as DDS takes them, and checks the accounts.

    python test/trials/annotation_flood.py --rounds 5 --count 30000

Every annotation must be learnt, rejected with a counted cause, or counted as lost.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

WIDTH = 8
DEPTHS = (1, 100, 30_000)
PATIENCE = 60.0
QUIET = 60.0


class FloodAccount(dict):
    """What the diagnostics say about annotations: learnt, lost, and rejected by cause."""

    @classmethod
    def of(cls, values: dict[str, str]) -> FloodAccount:
        rejected = {key.removeprefix('Rejected: '): int(value) for key, value in values.items()
                    if key.startswith('Rejected: ')}
        return cls(learnt=int(values.get('Journal entries', 0)),
                   lost=int(values.get('Lost annotations', 0)), **rejected)

    @property
    def total(self) -> int:
        return sum(self.values())

    def minus(self, other: FloodAccount) -> FloodAccount:
        return FloodAccount({key: self[key] - other.get(key, 0) for key in self})


class FloodOperator:
    """Publishes annotations and listens to the diagnostics of one classifier."""

    def __init__(self, context: object, depth: int, name: str = '/proemlc') -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from proemlc_ros.msg import LabelAnnotation
        from rclpy.executors import SingleThreadedExecutor
        self.kind = LabelAnnotation
        self.node = rclpy.create_node('flood', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.publisher = self.node.create_publisher(LabelAnnotation, f'{name}/annotations', depth)
        self.newest: dict[str, str] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_diagnostics(self, message: object) -> None:
        for status in message.status:
            if status.name.endswith(': classifier'):
                self.newest = {entry.key: entry.value for entry in status.values}

    def wait_for(self, condition, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f'waited in vain for {what}: {self.newest}'
            self.executor.spin_once(0.1)

    def account(self) -> FloodAccount:
        """Return the next account."""
        self.newest = {}
        self.wait_for(lambda: self.newest.get('Lifecycle state') == 'active', 'diagnostics')
        return FloodAccount.of(self.newest)

    def flood(self, count: int) -> tuple[FloodAccount, float]:
        """Publish at once; return what became of it, and the seconds that publishing took."""
        self.wait_for(self.publisher.get_subscription_count, 'the classifier')
        before = self.account()
        message = self.kind(labels=['cup'], features=array('f', range(WIDTH)))
        started = time.perf_counter()
        for _ in range(count):
            self.publisher.publish(message)
        seconds = time.perf_counter() - started
        account, changed = self.account(), time.monotonic()
        # Until nothing changes any more, where it is not complete: the disk may be slow.
        while account.total < before.total + count and time.monotonic() < changed + QUIET:
            if (following := self.account()) != account:
                account, changed = following, time.monotonic()
        return account.minus(before), seconds

    def close(self) -> None:
        self.node.destroy_node()
        self.executor.shutdown()


def run(rounds: int, count: int, folder: Path) -> int:
    """Run the trial; return how many annotations nobody accounts for."""
    import rclpy
    context = rclpy.Context()
    context.init()
    unaccounted = 0
    for number in range(rounds):
        depth = DEPTHS[number % len(DEPTHS)]
        node = subprocess.Popen([
            sys.executable, '-m', 'proemlc_ros.nodes.classifier_node', '--ros-args', '-p',
            f'model_directory:={folder / str(number)}', '-p', 'hidden_size:=30'])
        operator = FloodOperator(context, depth)
        try:
            account, seconds = operator.flood(count)
        finally:
            operator.close()
            node.terminate()
            node.wait()
        missing = count - account.total
        unaccounted += missing
        print(f'publisher depth {depth}: {count} published in {seconds:.2f} s: {dict(account)}, '
              f'not accounted for: {missing}', flush=True)
    context.shutdown()
    return unaccounted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--count', type=int, default=30_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        unaccounted = run(options.rounds, options.count, Path(folder))
    print(f'not accounted for in all: {unaccounted}')
    return 1 if unaccounted else 0


if __name__ == '__main__':
    sys.exit(main())
