# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong labels found and corrected: 5 % of the samples of Scene are mislabelled.

    ./proemlc run python benchmarks/mislabelled.py

The samples are taught with wrong labels into a model directory, listed as the gallery does, most
doubtful first, and all wrong ones relabelled. The model must then equal one that was never
mislabelled. Last, 500 samples are relabelled in one step, and the step is undone.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.review import Gallery
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import (
    Annotation,
    Correction,
    EventKind,
    Learnt,
    SampleOrder,
    SampleQuery,
)

DATA = Path(os.environ.get('PROEMLC_DATA', '../shared')) / 'datasets'
_BULK = 500
KINDS = ('exchanged', 'flipped')
"""Another label instead of all that are there; or one label, present or absent, the other way."""


def spoiled(present: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return the labels of one sample with a mistake."""
    wrong = present.copy()
    if kind == 'flipped':
        wrong[rng.integers(len(wrong))] ^= True
    else:
        chosen = rng.choice(np.flatnonzero(~present))
        wrong[:] = False
        wrong[chosen] = True
    return wrong


def names_of(names: list[str], present: np.ndarray) -> tuple[str, ...]:
    return tuple(names[place] for place in np.flatnonzero(present))


def run(name: str, kind: str, seed: int, share: float, folder: Path) -> str:
    """Return one line of the table."""
    data = find_dataset(DATA, name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data))
    X, Y = np.asarray(data.X, np.float32)[order], np.asarray(data.Y, bool)[order]
    wrong = np.sort(rng.choice(len(X), round(share * len(X)), replace=False))
    said = Y.copy()
    for place in wrong:
        said[place] = spoiled(Y[place], kind, rng)
    directory = ModelDirectory(folder)
    durable = DurableModel(VersionedModel(ProEMLC()), ProEMLC, directory,
                           Journal(directory.journal))
    learnt = durable.learn([
        Annotation(place + 1, names_of(data.label_names, said[place]), features=X[place])
        for place in range(len(X))])
    numbers = [one.number for one in learnt if isinstance(one, Learnt)]
    began = time.perf_counter()
    page = Gallery(durable).page(SampleQuery(order=SampleOrder.DOUBTFUL, limit=len(X) // 10))
    ranking = time.perf_counter() - began
    shown = {sample.number for sample in page.samples}
    found = sum(numbers[place] in shown for place in wrong)
    times = []
    for place in wrong:
        began = time.perf_counter()
        durable.make(durable.plans.correct([Correction(
            numbers[place], names_of(data.label_names, Y[place]))]))
        times.append(time.perf_counter() - began)
    never = ProEMLC()
    never.learn(X, [names_of(data.label_names, row) for row in Y])
    model = durable.model.learner
    columns = [model.labels.index(label) for label in never.labels]
    error = np.abs(model.scores(X)[:, columns] - never.scores(X)).max()
    bulk = []
    for plan in (durable.plans.correct([Correction(one, ('bulk',)) for one in numbers[:_BULK]]),
                 durable.plans.turn(EventKind.UNDO)):
        began = time.perf_counter()
        durable.make(plan)
        bulk.append(time.perf_counter() - began)
    directory.close()
    return (f'{name} {kind} seed {seed}: {found} of {len(wrong)} wrong ones '
            f'({found / len(wrong):.0%}) among the first {len(page.samples)}; ranked in '
            f'{ranking:.2f} s; relabelled in {1e3 * float(np.median(times)):.0f} ms (median), '
            f'{max(times):.2f} s (longest); {_BULK} at once in {bulk[0]:.2f} s, undone in '
            f'{bulk[1]:.2f} s; scores differ by {error:.1e} from never mislabelled')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--data', default='scene')
    parser.add_argument('--share', type=float, default=0.05)
    parser.add_argument('--seeds', type=int, default=3)
    arguments = parser.parse_args()
    for kind in KINDS:
        for seed in range(arguments.seeds):
            with tempfile.TemporaryDirectory() as folder:
                print(run(arguments.data, kind, seed, arguments.share, Path(folder, 'model')),
                      flush=True)


if __name__ == '__main__':
    main()
