# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Round trips while the model is renewed in the background, beside those before and behind."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from client import WIDTH, Client
from processes import Nodes
from round_trips import percentile
from std_srvs.srv import Trigger

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation

BARS = {50: 1.3, 99: 2.0}
SAMPLES, LABELS, HIDDEN = 10_000, 20, 500
# A camera's frames do not follow each other without a pause.
PAUSE = 0.01


def renewal(rounds: int) -> None:
    """Print one line per percentile."""
    with Nodes() as nodes, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, 'model')
        make_journal(folder)
        nodes.classifier(folder, 'renewal:=manual')
        client = Client(['proemlc'])
        client.connect('proemlc')
        service = client.node.create_client(Trigger, '/proemlc/renew')
        service.wait_for_service()
        for _ in range(100):
            client.ping('proemlc')
        alone = [ping(client) for _ in range(rounds // 2)]
        began = time.perf_counter()
        future = service.call_async(Trigger.Request())
        during = []
        while not future.done():
            during.append(ping(client))
        seconds = time.perf_counter() - began
        alone += [ping(client) for _ in range(rounds // 2)]
        client.close()
    print(f'renewal of {SAMPLES} samples x {WIDTH} features x {HIDDEN} neurons: {seconds:.1f} s; '
          f'{future.result().message}')
    for which, bar in BARS.items():
        ratio = percentile(during, which) / percentile(alone, which)
        print(f'round trip during a renewal ({len(during)}), p{which}: '
              f'{percentile(during, which) * 1e6:.0f} us, without '
              f'{percentile(alone, which) * 1e6:.0f} us, ratio {ratio:.2f} (bar {bar})',
              flush=True)


def ping(client: Client) -> float:
    """Return the seconds of one round trip, after a pause."""
    time.sleep(PAUSE)
    return client.ping('proemlc') or 1.0


def make_journal(folder: Path) -> None:
    """Teach a model, as its node would have."""
    def new_learner() -> ProEMLC:
        return ProEMLC(hidden_size=HIDDEN)

    directory = ModelDirectory(folder)
    journal = Journal(directory.journal)
    durable = DurableModel(VersionedModel(new_learner()), new_learner, directory, journal)
    random = np.random.default_rng(0)
    places = random.normal(size=(40, WIDTH))
    for start in range(0, SAMPLES, 500):
        durable.learn([annotation(number, places, random)
                       for number in range(start, start + 500)])
    durable.snapshot()
    journal.close()
    directory.close()


def annotation(number: int, places: np.ndarray, random: Any) -> Annotation:
    """Return a sample near one of the places, which has its labels."""
    place = random.integers(len(places))
    values = places[place] + 1.5 * random.normal(size=WIDTH)
    return Annotation(number + 1, (f'label {place % LABELS}', f'label {(3 * place + 1) % LABELS}')
                      if (3 * place + 1 - place) % LABELS else (f'label {place % LABELS}',),
                      features=values.astype(np.float32))
