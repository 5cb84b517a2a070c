# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From starting the process to the first prediction, beside the bare node."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import NamedTuple

from client import Client
from processes import echo_command, processor_seconds


class Start(NamedTuple):
    """Seconds of one start: until the node is up, its processor's then and with the answer."""

    clock: float
    up: float
    answered: float


def start_up(times: int) -> None:
    """Time from starting the process to the node being up, and the processor time it takes."""
    taken: dict[str, list[Start]] = {'echo': [], 'proemlc': []}
    client = Client()
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(times):
            for name, figures in taken.items():
                command = (echo_command(6) if name == 'echo' else [
                    '-m', 'proemlc_ros.nodes.classifier_node', '--ros-args', '-p',
                    f'model_directory:={scratch}/model'])
                figures.append(one_start(command, client, name))
    ours, bare = ([median(column) for column in zip(*taken[name])] for name in ('proemlc', 'echo'))
    print('start-up: ' + '; '.join(
        f'{what} {one:.2f} s, bare rclpy node {other:.2f} s, ratio {one / other:.2f}'
        for what, one, other in zip(
            ('up after', 'processor time', 'to the first prediction'), ours, bare)), flush=True)


def one_start(command: list[str], client: Client, name: str) -> Start:
    """Start a node, wait until it says that it is up and then for an answer, and end it."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    for line in process.stdout:
        if line.startswith('up') or 'Model directory' in line:
            break
    clock, up = time.perf_counter() - begin, processor_seconds(process.pid)
    client.predictions = 0
    while not client.predictions:
        client.publishers[name].publish(client.message)
        client.executor.spin_once(0.02)
    answered = processor_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    return Start(clock, up, answered)
