# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From a vector sent to its prediction received, beside the bare node."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from client import WIDTH, Client
from processes import Nodes, processor_seconds
from taught_model import make_model

BAR = 1.3


def round_trips(rounds: int, activation: str) -> None:
    """Print a line for each size of the model."""
    for hidden in (500, 1000):
        for labels in (6, 400):
            times, work = one_size(hidden, labels, rounds, activation)
            echo, node = times['echo'][20:], times['proemlc'][20:]
            ratio = percentile(node, 50) / percentile(echo, 50)
            print(f'round trip, {WIDTH} features x {hidden} {activation} x {labels} labels: p50 '
                  f'{percentile(node, 50) * 1e6:.0f} us, echo {percentile(echo, 50) * 1e6:.0f} us,'
                  f' ratio {ratio:.2f} (bar {BAR}); p99 {percentile(node, 99) * 1e6:.0f} us, echo '
                  f'{percentile(echo, 99) * 1e6:.0f} us; processor time '
                  f'{work["proemlc"] / rounds * 1e6:.0f} us, echo '
                  f'{work["echo"] / rounds * 1e6:.0f} us', flush=True)


def one_size(hidden: int, labels: int, rounds: int,
             activation: str) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return the seconds of each round trip and the processor seconds of both nodes."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, 'model')
        make_model(folder, hidden, labels, activation)
        processes = {'echo': nodes.echo(labels), 'proemlc': nodes.classifier(folder)}
        client = Client()
        for name in processes:
            client.connect(name)
        times: dict[str, list[float]] = {name: [] for name in processes}
        work = {name: -processor_seconds(process.pid) for name, process in processes.items()}
        # In turn, so that both meet the same machine.
        for _ in range(rounds):
            for name, taken in times.items():
                taken.append(client.ping(name) or 1.0)
        for name, process in processes.items():
            work[name] += processor_seconds(process.pid)
        client.close()
    return times, work


def percentile(values: list[float], which: int) -> float:
    return float(np.percentile(values, which))
