# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training on bags, in parts that can be split by bag.

Each bag is added up on its own (HᵀH, HᵀY, Σh, and the samples kept to decide by); the sums of bags
add up to those of all. The decision is then fitted to leave-one-out scores of the kept samples. So
the result does not depend on how samples are spread over bags, or bags over machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import learnt_sums
from proemlc_ros.core.fleet.sums import PartialSums
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.annotation_stream import AnnotationStream
from proemlc_ros.evaluation.backends import TrainingBackend
from proemlc_ros.evaluation.bag_steps import BagSet, BagSteps
from proemlc_ros.evaluation.taught_samples import journal_model, open_journal


@dataclass
class BagSums:
    """Sums over the samples of one bag, or of several together.

    Attributes:
        sums: Of the samples.
        rejects: Numbers of what was rejected, by cause.
        extractor: What made the features; empty: not stated.
        notes: Defects of the bags.

    """

    sums: PartialSums
    rejects: Counter[str]
    extractor: str
    notes: list[str]

    def plus(self, other: BagSums) -> BagSums:
        """Return the sums of both; neither changes, so that a lost result can be repeated.

        Raises:
            BagError: Their features were made by different extractors.

        """
        if self.extractor and other.extractor and self.extractor != other.extractor:
            raise BagError(
                f'the bags have features of different extractors, {self.extractor!r} and '
                f'{other.extractor!r}; train on bags of one extractor')
        sums = deepcopy(self.sums)
        sums.merge(other.sums)
        return BagSums(sums, self.rejects + other.rejects, self.extractor or other.extractor,
                       self.notes + other.notes)


def train(
    bags: BagSet, settings: dict[str, Any], backend: TrainingBackend,
    start: ProEMLC | None = None,
) -> tuple[ProEMLC, BagSums]:
    """Train a model on bags.

    Args:
        bags: Bags to learn from.
        settings: Settings of a new model.
        backend: Where the work is done.
        start: A trained model to continue with; None: a new one.

    Returns:
        The model, and the sums with notes and rejects.

    Raises:
        BagError: A bag cannot be read, or there is nothing to learn.

    """
    empty = layer_model(bags, settings) if start is None else start.empty_copy()
    if start is not None:
        empty.extra['extractor'] = start.extra.get('extractor', '')
    total = backend.map_reduce(sums_of_bag, BagSums.plus, empty, bags)
    if not total.sums.samples:
        causes = ', '.join(f'{count} {cause}' for cause, count in total.rejects.items())
        raise BagError('the bags have no annotations that can be learnt; rejected: '
                       f'{causes or "none"}')
    if start is not None and start.samples:
        total.sums.merge(learnt_sums(start))
    model = _young(bags, settings, total) if start is None else None
    if model is None:
        model = ProEMLC.from_sums(total.sums)
    model.extra['extractor'] = total.extractor
    return model, total


def layer_model(bags: BagSet, settings: dict[str, Any]) -> ProEMLC:
    """Return an empty model whose hidden layer is fixed, by the first samples where it needs them.

    What the settings leave open follows the features of the first bag, as in the node. A journal
    whose model was renewed has its layer.

    Raises:
        BagError: There is nothing to learn from.

    """
    renewed = journal_model(bags.paths[0])
    if renewed is not None and renewed.options.as_dict() == settings:
        return renewed
    model = _first_learnt(bags, settings)
    if model.warming_up:
        model.fix_layer()
    return model.empty_copy()


def _young(bags: BagSet, settings: dict[str, Any], total: BagSums) -> ProEMLC | None:
    """Return the model of a journal whose layer still waits for samples, as it runs; else None.

    Of other bags the layer is fixed, since it is all that their parts share.

    """
    if (len(bags.paths) > 1 or total.sums.samples >= total.sums.options.warmup_samples
            or open_journal(bags.paths[0]) is None or journal_model(bags.paths[0]) is not None):
        return None
    return _first_learnt(bags, settings, total.sums.labels.names)


def _first_learnt(
    bags: BagSet, settings: dict[str, Any], labels: Iterable[str] = (),
) -> ProEMLC:
    """Return a model that has learnt samples until its layer is fixed, or all of them.

    Args:
        bags: Bags to learn from.
        settings: Settings of the model.
        labels: Known from the start, in this order.

    """
    factory = LearnerFactory(settings)
    model = factory()
    model.add_labels(labels)
    for path in bags.paths:
        # For the first samples alone, a second process is not worth its start.
        steps = _steps(replace(bags, parallel=False), path, model)
        for block in steps.annotation_blocks():
            model = factory.fitted(model, block.extractor)
            model.learn(block.rows, **block.learner_arguments())
            model.extra['extractor'] = steps.stream.expected.extractor
            if not model.warming_up:
                return model
    if not model.samples:
        raise BagError('the bags have no annotations that can be learnt; '
                       'see "proemlc evaluate" for the reasons')
    return model


def sums_of_bag(model: ProEMLC, bags: BagSet, path: Path) -> BagSums:
    """Add up the samples of one bag that are in force.

    Args:
        model: Empty, with the hidden layer to use.
        bags: How to read the bag.
        path: The bag.

    """
    steps = _steps(bags, path, model)
    sums = model.partial_sums()
    for block in steps.annotation_blocks():
        sums.add(block.rows, **block.learner_arguments())
    # The order of the labels is known at the end.
    ordered = model.partial_sums()
    ordered.add_labels(name for name in steps.labels if name in sums.labels.columns)
    ordered.merge(sums)
    return BagSums(ordered, steps.stream.rejects, steps.stream.expected.extractor, steps.notes)


def _steps(bags: BagSet, path: Path, model: ProEMLC) -> BagSteps:
    return bags.steps(path, AnnotationStream(bags.rules, model), as_it_stands=True)
