# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs to offer predictions reliably, which both kinds of subscribers hear."""

from __future__ import annotations

import tempfile
from pathlib import Path

from client import Client
from processes import Nodes, processor_seconds
from rclpy.qos import ReliabilityPolicy
from round_trips import percentile
from taught_model import make_model

# Names of the nodes, and what they offer.
OFFERED = {'offers_best_effort': 'best_effort', 'offers_reliable': 'reliable'}


def reliability(rounds: int, activation: str) -> None:
    """Print a line for each kind of offer and of subscriber."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch:
        processes = {}
        for name, offered in OFFERED.items():
            folder = Path(scratch, name)
            make_model(folder, 500, 6, activation)
            processes[name] = nodes.classifier(
                folder, f'predictions_reliability:={offered}', name=name)
        clients = {('best_effort', name): Client([name]) for name in OFFERED}
        clients['reliable', 'offers_reliable'] = Client(
            ['offers_reliable'], ReliabilityPolicy.RELIABLE)
        times = {case: [] for case in clients}
        work = dict.fromkeys(clients, 0.0)
        for (_, name), client in clients.items():
            client.connect(name)
        # In turn, in parts, so that all meet the same machine.
        for _ in range(10):
            for case, client in clients.items():
                before = processor_seconds(processes[case[1]].pid)
                times[case] += [client.ping(case[1]) or 1.0 for _ in range(rounds // 10)]
                work[case] += processor_seconds(processes[case[1]].pid) - before
        for client in clients.values():
            client.close()
    for (heard, name), taken in times.items():
        print(f'{name.replace("_", " ")}, {heard} subscriber: p50 '
              f'{percentile(taken, 50) * 1e6:.0f} us, p99 {percentile(taken, 99) * 1e6:.0f} us; '
              f'processor time of the node {work[heard, name] / len(taken) * 1e6:.0f} us',
              flush=True)
