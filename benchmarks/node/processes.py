# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The processes that are compared, and what the system says about them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


class Nodes:
    """The processes of one comparison; ended with the block."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *command: object) -> subprocess.Popen[str]:
        """Start a Python program."""
        process = subprocess.Popen([sys.executable, *map(str, command)], text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append(process)
        return process

    def echo(self, labels: int) -> subprocess.Popen[str]:
        """Start the bare node."""
        return self.start(*echo_command(labels))

    def classifier(self, folder: Path, *parameters: str,
                   name: str = 'proemlc') -> subprocess.Popen[str]:
        """Start the classifier on a model directory."""
        options = [word for entry in (f'model_directory:={folder}', 'query_rate:=0.0',
                                      *parameters) for word in ('-p', entry)]
        return self.start('-m', 'proemlc_ros.nodes.classifier_node', '--ros-args', '-r',
                          f'__node:={name}', *options)

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            process.send_signal(signal.SIGINT)
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def echo_command(labels: int) -> list[str]:
    """Return what Python is told to be the bare node."""
    return [str(Path(__file__).with_name('echo_node.py')), str(labels)]


def resident_bytes(pid: int) -> int:
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


def processor_seconds(pid: int) -> float:
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
