# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of complete samples: their hidden rows, and what is counted of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proemlc_ros.core.deciding.calibration import Mask
from proemlc_ros.core.deciding.reservoir import KeptSample
from proemlc_ros.core.labels import indicators
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.blas import Array
from proemlc_ros.core.solving.recursive import BLOCK

# Samples whose hidden rows are worked out together.
CHUNK = 8 * BLOCK


class LearntSamples(NamedTuple):
    """Samples of a chunk just before each was learnt, one entry or row per sample."""

    scores: Array  # (n, 1 + labels); unnamed label first
    present: Mask  # (n, labels)
    leverages: Array
    squares: Array  # |h|^2
    masses: Array


def names_in(annotations: list[SampleLabels]) -> dict[str, None]:
    """Return the names that annotations show, in order; in a stream many are equal."""
    return dict.fromkeys(name for annotation in dict.fromkeys(annotations)
                         for name in annotation.present)


def block_targets(learner: Learner, block: list[SampleLabels]) -> tuple[Mask, Array]:
    """Return which outputs complete samples show, unnamed label first, and their targets."""
    labels = learner.labels
    present = indicators([annotation.present for annotation in block], labels.columns,
                         len(labels) + 1)
    return present, np.where(present, 1.0, -1.0).astype(learner.options.dtype, copy=False)


def hidden_rows(learner: Learner, rows: Rows) -> Array:
    """Return the hidden rows of samples, in memory that the next call uses again.

    New memory each time would take a tenth of the time of learning.
    """
    count = rows.shape[0]
    if count > CHUNK:
        return learner.layer.rows(rows)
    if len(learner.buffer) < count:
        learner.buffer = np.empty((count, learner.layer.size), dtype=learner.options.dtype)
    return learner.layer.rows(rows, learner.buffer[:count])


def count_block(learner: Learner, hidden: Array, present: Mask, masses: Array,
                checksums: list[int]) -> None:
    """Count a block that was learnt, and keep some of it to decide by."""
    labels = learner.labels
    accepted = learner.reservoir.accepted(checksums, learner.samples)
    if accepted:
        _keep(learner, hidden, present, checksums, accepted)
    shown = present.sum(axis=0)
    for place in shown.nonzero()[0].tolist():
        labels.count(labels.names[place], int(shown[place]))
    learner.samples += len(hidden)
    learner.mass += float(masses.sum())


def _keep(learner: Learner, hidden: Array, present: Mask, checksums: list[int],
          accepted: list[int]) -> None:
    """Keep samples of a block in the reservoir."""
    reservoir = learner.reservoir
    targets = np.where(present, np.int8(1), np.int8(-1))
    new = accepted if not len(reservoir) else [
        place for place in accepted
        if not reservoir.add_again(checksums[place], targets[place], True)]
    if not new:
        return
    whole = len(new) == len(hidden)
    rows = (hidden if whole else hidden[new]).astype(np.float32)
    kept = zip([checksums[place] for place in new], rows, targets if whole else targets[new],
               learner.layer.own_neurons(hidden if whole else hidden[new]))
    reservoir.add_all([KeptSample(checksum, row, said, True, own, 0, 1)
                       for checksum, row, said, own in kept])
