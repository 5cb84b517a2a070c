# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Kills the classifier node under a stream of ~/annotate calls, restarts it, and checks the books.

    python test/nodes/kill_trial.py --kills 100

After each kill the model directory is damaged in a way that must cost nothing. Every
acknowledged annotation must be in the model once, and its scores must equal those of a model that
was taught the same without interruption.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill_harness import DAMAGES, NodeLives
from ros_process import DEADLINE

WIDTH = 12
PROBES = np.random.default_rng(5).normal(size=(10, WIDTH))
SETTINGS = {'hidden_size': 30, 'activation': 'relu', 'scaling': 'none', 'seed': 4}
IN_FLIGHT = 4
PATIENCE = 0.5


def values_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)


def labels_of(number: int) -> list[str]:
    return [f'label {number % 7}', f'rare {number // 100}']


class KilledNode:
    """A node that is killed, and the operator who does not notice."""

    def __init__(self, folder: Path, context: object) -> None:
        import rclpy
        from proemlc_ros.srv import Annotate
        from rclpy.executors import SingleThreadedExecutor
        self.folder = folder
        self.service = Annotate
        self.node = rclpy.create_node('operator', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.acknowledged: list[int] = []
        self.sent = 0
        self.lives = NodeLives(folder, snapshot_every=15, **SETTINGS)

    def request(self, number: int) -> object:
        request = self.service.Request()
        request.annotation.header.stamp.sec = number
        request.annotation.labels = labels_of(number)
        request.annotation.features = array('f', values_of(number))
        return request

    def annotate_for(self, seconds: float) -> None:
        """Keep some calls in flight and note what is acknowledged."""
        client = self.node.create_client(self.service, '/proemlc/annotate')
        if not client.wait_for_service(DEADLINE):
            raise SystemExit('the node has no service')
        pending: dict[int, tuple[float, Any]] = {}
        deadline = None
        while deadline is None or time.monotonic() < deadline:
            # DDS believes for a while that a killed server lives, so a call may go nowhere; on a
            # busy machine it may as well be answered late.
            recent = sum(time.monotonic() - since <= PATIENCE for since, _ in pending.values())
            for _ in range(IN_FLIGHT - recent):
                self.sent += 1
                pending[self.sent] = (
                    time.monotonic(), client.call_async(self.request(self.sent)))
            self.executor.spin_once(0.01)
            for number in [n for n, (_, future) in pending.items() if future.done()]:
                answer = pending.pop(number)[1].result()
                if not answer.success:
                    raise SystemExit(f'annotation {number} was refused: {answer.message}')
                self.acknowledged.append(number)
                deadline = deadline or time.monotonic() + seconds
        self.client = client

    def forget_client(self) -> None:
        self.node.destroy_client(self.client)


def check(folder: Path, trial: KilledNode) -> str:
    """Compare journal, snapshot and acknowledgements.

    Returns:
        One line for people.
    """
    from rosbags.highlevel import AnyReader

    from proemlc_ros.core import ProEMLC
    with AnyReader([folder / 'journal']) as reader:
        journal = [reader.deserialize(data, connection.msgtype)
                   for connection, _, data in reader.messages()]
    learnt = [message.header.stamp.sec for message in journal]
    assert len(set(learnt)) == len(learnt), 'an annotation is there twice'
    missing = set(trial.acknowledged) - set(learnt)
    assert not missing, f'acknowledged and lost: {sorted(missing)}'
    uninterrupted = ProEMLC(**SETTINGS)
    for number, message in zip(learnt, journal):
        np.testing.assert_array_equal(message.features, values_of(number))
        uninterrupted.learn(values_of(number), labels_of(number))
    model = ProEMLC.load(folder / 'snapshot.npz')
    assert model.samples == len(learnt), (model.samples, len(learnt))
    assert model.labels == uninterrupted.labels
    error = float(np.abs(model.scores(PROBES) - uninterrupted.scores(PROBES)).max())
    assert error <= 1e-9, f'scores differ by {error}'
    return (f'{len(trial.acknowledged)} acknowledged of {trial.sent} sent, {len(learnt)} learnt, '
            f'none lost, none twice, scores differ by {error:.1e}')


def run(kills: int, folder: Path, context: object, seed: int = 1) -> str:
    """Kill the node that often.

    Args:
        kills: how often.
        folder: of the model.
        context: of rclpy.
        seed: of the moments.

    Returns:
        One line for people.
    """
    dice = random.Random(seed)
    trial = KilledNode(folder, context)
    for kill in range(kills):
        trial.lives.start()
        trial.annotate_for(dice.random() * 0.3)
        trial.lives.kill()
        trial.forget_client()
        DAMAGES[kill % len(DAMAGES)](folder, dice)
    trial.lives.start()
    trial.annotate_for(0.1)
    trial.lives.stop()
    trial.node.destroy_node()
    return f'{kills} kills: {check(folder, trial)}'


def main() -> None:
    """Run the trial from the command line."""
    import rclpy
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--kills', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    rclpy.init()
    with tempfile.TemporaryDirectory() as scratch:
        print(run(arguments.kills, Path(scratch, 'model'), rclpy.get_default_context(),
                  arguments.seed))


if __name__ == '__main__':
    main()
