# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""From recordings to a model by partial sums: streaming, in constant memory, in any order.

Pass one adds up each recording on its own (HᵀH, HᵀY, Σh); sums of recordings add up to those of
all. Pass two finds the thresholds from leave-one-out scores, which add up likewise. So the result
does not depend on how samples are spread over recordings, or recordings over machines.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.conversions import EVENT_TYPE
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import learnt_sums, leave_one_out
from proemlc_ros.core.fleet.sums import PartialSums
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.matched import MatchedAnnotations
from proemlc_ros.evaluation.replay import Replay
from proemlc_ros.evaluation.runs import BagSet


@dataclass
class BagSums:
    """What one recording, or several together, taught.

    Attributes:
        sums: Of the samples.
        rejects: Numbers of what was refused, by cause.
        extractor: What made the features; empty: not stated.
        notes: What is not as it should be with the recordings.

    """

    sums: PartialSums
    rejects: Counter[str]
    extractor: str
    notes: list[str]

    def plus(self, other: BagSums) -> BagSums:
        """Return the sums of both; neither is changed, so that a lost one can be had again.

        Raises:
            BagError: Their features were made by different extractors.

        """
        if self.extractor and other.extractor and self.extractor != other.extractor:
            raise BagError(
                f'the recordings have features of different extractors, {self.extractor!r} and '
                f'{other.extractor!r}; train on those of one kind')
        sums = deepcopy(self.sums)
        sums.merge(other.sums)
        return BagSums(sums, self.rejects + other.rejects, self.extractor or other.extractor,
                       self.notes + other.notes)


def layer_model(recordings: BagSet, settings: dict[str, object]) -> ProEMLC:
    """Return an untaught model whose hidden layer is fixed, by the first samples if need be.

    Raises:
        BagError: There is nothing to learn from.

    """
    model = ProEMLC(**settings)
    for path in recordings.paths:
        for block in MatchedAnnotations(recordings, path, model):
            model.learn(block.rows, **block.statements())
            if not model.warming_up:
                return model.empty_copy()
    if not model.samples:
        raise BagError('the recordings have no annotations that can be learnt; '
                       'see "proemlc evaluate" for the reasons')
    model.fix_layer()
    return model.empty_copy()


def sums_of_bag(model: ProEMLC, recordings: BagSet, path: Path) -> BagSums:
    """Add up what one recording teaches.

    A journal with events (undo, rename, …) is played as it happened.

    Args:
        model: Untaught, with the hidden layer to use.
        recordings: How to read it.
        path: The recording.

    """
    with BagReader(path, recordings.best_effort) as bag:
        if bag.of_type(EVENT_TYPE):
            return _sums_of_journal(model, recordings, bag)
    matched = MatchedAnnotations(recordings, path, model)
    sums = model.partial_sums()
    for block in matched:
        sums.add(block.rows, **block.statements())
    return BagSums(sums, matched.rejects, matched.extractor, matched.notes)


def _sums_of_journal(model: ProEMLC, recordings: BagSet, bag: BagReader) -> BagSums:
    replay = Replay(model.copy(), True, recordings.rules)
    replay.play(find_sources(bag, recordings.choice).stream(bag))
    return BagSums(learnt_sums(replay.model), replay.all_rejects, replay.steps.expected.extractor,
                   [f'{bag.path.name}: {note}' for note in bag.notes])


def evidence_of_bag(model: ProEMLC, recordings: BagSet, path: Path) -> Thresholds:
    """Return what one recording says about thresholds to the model that learnt from it.

    Nothing for a journal with events: its evidence came up while it was played.
    """
    evidence = Thresholds(model.options.threshold)
    with BagReader(path, recordings.best_effort) as bag:
        if bag.of_type(EVENT_TYPE):
            return evidence
    for block in MatchedAnnotations(recordings, path, model):
        evidence.merge(leave_one_out(model, block.rows, **block.statements()))
    return evidence


def check_learnt(total: BagSums) -> None:
    """Refuse recordings that taught nothing.

    Raises:
        BagError: There was nothing to learn.

    """
    if not total.sums.samples:
        causes = ', '.join(f'{count} {cause}' for cause, count in total.rejects.items())
        raise BagError(f'the recordings have no annotations that can be learnt; refused: '
                       f'{causes or "none"}')


def trained_model(total: BagSums) -> ProEMLC:
    """Return the model of added-up recordings; its thresholds are still to be found."""
    model = ProEMLC.from_sums(total.sums)
    model.extra['extractor'] = total.extractor
    return model
