# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A durable on a folder, lessons for it, and what it has learnt."""

from __future__ import annotations

import numpy as np
from corrections import turn

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import resume
from proemlc_ros.classifier.validation import Limits
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation, EventKind, Learnt

MESSAGES = RosbagsMessages()
WIDTH = 12
PROBES = np.random.default_rng(99).normal(size=(20, WIDTH))


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=40, seed=3)


def make_annotation(number: int, *labels: str, **fields) -> Annotation:
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    return Annotation(1000 + number, labels, features=values, **fields)


class Opened:
    """A durable on a folder, as the node makes it."""

    def __init__(self, folder, **limits):
        self.directory = ModelDirectory(folder)
        self.journal = Journal(self.directory.journal)
        self.durable = DurableModel(VersionedModel(new_learner()), new_learner, self.directory,
                                    self.journal, Limits(**limits))
        self.report = resume(self.durable)

    def drop(self):
        """Let go without any farewell, as a crash does."""
        self.directory.close()


def undo(durable, numbers=(), annotator='', mine=False):
    """Undo steps, the next one where none is named, and return them."""
    return turn(durable, EventKind.UNDO, numbers, annotator, mine)


def redo(durable, numbers=(), annotator='', mine=False):
    """Redo steps, likewise."""
    return turn(durable, EventKind.REDO, numbers, annotator, mine)


def scores_of(durable) -> np.ndarray:
    return durable.model.learner.scores(PROBES)


def teach_some(durable, count: int = 30, start: int = 0) -> None:
    names = ['cup', 'plate', 'fork', 'knife', 'spoon']
    for number in range(start, start + count):
        chosen = names[:1 + number % len(names)][-2:]
        answer, = durable.learn([make_annotation(number, *chosen)])
        assert isinstance(answer, Learnt), answer
