# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The node's model against one trained in a single batch on the same stream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.losses import StreamLosses, hamming_loss_of
from proemlc_ros.demo.run_log import FinishedRun


@dataclass(frozen=True)
class BatchComparison:
    """Hamming losses on the exam, whose pictures nobody taught."""

    node: float
    """Of the node's own predictions, as they came over DDS."""
    batch: float
    """Of a model that got all samples at once and knew all labels from the start."""
    samples: int
    exam_pictures: int

    @property
    def ratio(self) -> float:
        """The node's loss in units of the batch model's."""
        if self.batch == 0:
            return 1.0 if self.node == 0 else float('inf')
        return self.node / self.batch


def judge(curriculum: Curriculum, session: FinishedRun, model_file: Path) -> BatchComparison:
    """Train a batch model with the node's own settings, and examine both on the same pictures.

    Args:
        curriculum: the truth.
        session: vectors, what was taught, and what the node predicted.
        model_file: the node's saved model, for its settings.

    """
    settings = ProEMLC.load(model_file).options
    batch = ProEMLC(labels=curriculum.labels, **settings.as_dict())
    taught = [number for number in session.taught if number in session.vectors]
    batch.learn(
        np.array([session.vectors[number] for number in taught]),
        [curriculum.pictures[number].objects for number in taught])
    exam = [picture for picture in curriculum.pictures
            if picture.exam and picture.number in session.vectors
            and picture.number in session.records]
    predicted = batch.predict(np.array([session.vectors[picture.number] for picture in exam]))
    seen = {picture.number: session.records[picture.number] for picture in exam}
    return BatchComparison(
        node=StreamLosses(curriculum, seen).exam_loss,
        batch=hamming_loss_of(exam, predicted, curriculum.labels),
        samples=len(taught), exam_pictures=len(exam))
