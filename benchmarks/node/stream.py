# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""As many vectors as it takes, every tenth annotated, and the memory meanwhile."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from client import WIDTH, Client
from processes import Nodes, resident_bytes
from taught_model import make_model


def stream(seconds: float, activation: str) -> None:
    """Send as fast as answers come, every tenth vector annotated, and watch the memory."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, 'model')
        make_model(folder, 500, 6, activation)
        process = nodes.classifier(folder, 'max_annotation_rate:=0.0', 'held_annotations:=100000',
                                   'features_depth:=100')
        client = Client()
        client.connect('proemlc')
        learnt = client.listen_to_learnt()
        begin = time.perf_counter()
        marks, sent, memory = [begin + share * seconds for share in (0.2, 1.0)], 0, []
        while marks:
            # Ten in flight keep the node busy; best effort loses what does not fit.
            client.burst(10)
            sent += 10
            if time.perf_counter() > marks[0]:
                memory.append(resident_bytes(process.pid))
                del marks[0]
        elapsed = time.perf_counter() - begin
        client.drain()
        client.close()
    print(f'stream of {elapsed:.0f} s, {WIDTH} features x 500 {activation} x 6 labels, 10 % '
          f'annotated: {client.predictions / elapsed:.0f} predictions/s of {sent / elapsed:.0f} '
          f'sent, {len(learnt) / elapsed:.0f} annotations/s learnt durably', flush=True)
    print(f'memory over that stream: {memory[0] / 1e6:.1f} MB after a fifth, '
          f'{memory[1] / 1e6:.1f} MB at the end, growth '
          f'{100 * (memory[1] / memory[0] - 1):.1f} %', flush=True)
