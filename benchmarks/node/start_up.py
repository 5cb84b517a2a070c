# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From starting the process to the node being up, beside the bare node."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from statistics import median

from processes import echo_command, processor_seconds


def start_up(times: int) -> None:
    """Time from starting the process to the node being up, and the processor time it takes."""
    taken: dict[str, list[tuple[float, float]]] = {'echo': [], 'proemlc': []}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(times):
            for name, figures in taken.items():
                command = (echo_command(6) if name == 'echo' else [
                    '-m', 'proemlc_ros.nodes.classifier_node', '--ros-args', '-p',
                    f'model_directory:={scratch}/model'])
                figures.append(one_start(command))
    walls = {name: median(wall for wall, _ in figures)
             for name, figures in taken.items()}
    works = {name: median(work for _, work in figures)
             for name, figures in taken.items()}
    print(f'start-up: {walls["proemlc"]:.2f} s, bare rclpy node {walls["echo"]:.2f} s, ratio '
          f'{walls["proemlc"] / walls["echo"]:.2f}; processor time {works["proemlc"]:.2f} s, bare '
          f'{works["echo"]:.2f} s, ratio {works["proemlc"] / works["echo"]:.2f}', flush=True)


def one_start(command: list[str]) -> tuple[float, float]:
    """Return the seconds until a node says that it is up, and its processor seconds then."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    for line in process.stdout:
        if line.startswith('up') or 'Model directory' in line:
            break
    wall = time.perf_counter() - begin
    work = processor_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    return wall, work
