# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The model directory of the trials, and the verdict on what a start makes of it.

- held: the resumed model equals the one that was, to 1e-8;
- said: it differs, and the report names what is missing or was rejected;
- lost: it differs, and nothing says so; or it has learnt something twice, or is another model.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from corrections import remove, rename

from proemlc_ros.bags.message_types import RosbagsMessages
from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.classifier.resume import ResumeReport, resume
from proemlc_ros.classifier.versioned_model import VersionedModel
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.journal.journal import Journal
from proemlc_ros.records import Annotation

Verdict = tuple[str, str]
WIDTH = 40
INPUTS = np.random.default_rng(5).normal(size=(10, WIDTH))
MESSAGES = RosbagsMessages()
# Of the rolling loss; short, so that a replay learns in blocks and one by one.
WINDOW = 20


def new_learner() -> ProEMLC:
    return ProEMLC(hidden_size=16, activation='relu', scaling='none', seed=2)


def make_annotation(number: int) -> Annotation:
    values = np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)
    return Annotation(number, (f'label {number % 4}', f'rare {number // 40}'), features=values,
                      complete=number % 5 > 0)


def open_model(folder: Path) -> tuple[DurableModel, ResumeReport]:
    directory = ModelDirectory(folder)
    try:
        journal = Journal(directory.journal, max_file_bytes=100_000)
        durable = DurableModel(VersionedModel(new_learner(), window=WINDOW), new_learner,
                               directory, journal)
        return durable, resume(durable)
    except BaseException:
        directory.close()
        raise


def close(durable: DurableModel) -> None:
    durable.journal.close()
    durable.directory.close()


def make_template(folder: Path) -> None:
    """Write a model directory with everything in it: files, snapshots, undo, rename, load."""
    durable, _ = open_model(folder)

    def learn(start: int, stop: int) -> None:
        for first in range(start, stop, 10):
            durable.learn([make_annotation(number) for number in range(first, first + 10)])
    learn(0, 80)
    durable.undo()
    durable.save('kitchen')
    learn(80, 120)
    durable.snapshot()
    durable.load('kitchen')
    learn(200, 240)
    rename(durable, 'label 1', 'label one')
    durable.snapshot()
    learn(300, 360)
    durable.undo()
    durable.undo()
    remove(durable, 'rare 5')
    learn(400, 430)
    close(durable)


def same(first: ProEMLC, second: ProEMLC) -> bool:
    return (first.labels == second.labels and first.samples == second.samples
            and bool(np.allclose(first.scores(INPUTS), second.scores(INPUTS), atol=1e-8)))


class Judge:
    """A model directory to be damaged in copies, and the model that each should give."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.template = scratch / 'template'
        make_template(self.template)
        self.models: dict[bool, ProEMLC] = {}
        for snapshots in (True, False):
            copy = self.copy(f'expected {snapshots}', snapshots)
            durable, report = open_model(copy)
            assert not report.rejections and not report.missing
            self.models[snapshots] = durable.model.learner
            close(durable)
            shutil.rmtree(copy)

    def copy(self, name: str, snapshots: bool = True) -> Path:
        folder = shutil.copytree(self.template, self.scratch / name)
        if not snapshots:
            for path in folder.glob('snapshot*.npz'):
                path.unlink()
        return folder

    def judge(self, folder: Path, snapshots: bool) -> Verdict:
        """Resume and compare; a second start must find the same."""
        try:
            durable, report = open_model(folder)
        except ProEMLCError as error:
            return 'said', f'did not start: {error}'
        found = durable.model.learner
        gone = sum(map(len, report.missing)) + len(report.rejections)
        said = bool(gone or report.notes or durable.journal.repairs)
        close(durable)
        again, _ = open_model(folder)
        close(again)
        if not same(again.model.learner, found):
            return 'lost', 'the second start gave another model'
        if same(found, self.models[snapshots]):
            return 'held', ''
        expected = self.models[snapshots]
        # A lost undo leaves a sample, a lost load the model before it.
        if found.samples > expected.samples and not gone:
            return 'lost', f'{found.samples} samples instead of {expected.samples}'
        return ('said', '') if said else ('lost', 'another model without a word')
