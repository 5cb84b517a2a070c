# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training on bags, in parts that can be split by bag.

Each bag is added up on its own (HᵀH, HᵀY, Σh, and the samples kept to decide by); the sums of bags
add up to those of all. The decision is then fitted to leave-one-out scores of the kept samples. So
the result does not depend on how samples are spread over bags, or bags over machines: the work is
done in this process, or by a back end on a Dask cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.classifier.profiles import LearnerFactory
from proemlc_ros.classifier.versioned_model import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.core.selection import Selection
from proemlc_ros.core.selection.renewal import plan_for, renewed
from proemlc_ros.core.sums import PartialSums, learnt_sums
from proemlc_ros.errors import BagError, MissingDependencyError, TrainingError
from proemlc_ros.evaluation.annotation_stream import AnnotationStream, causes_of
from proemlc_ros.evaluation.bag_steps import BagSet, BagSteps
from proemlc_ros.evaluation.prequential_evaluation import digest_of
from proemlc_ros.evaluation.taught_samples import journal_model, open_journal
from proemlc_ros.records import Annotation

# Seconds to wait for a scheduler.
CONNECT_TIMEOUT = 15
# What a cluster on this machine does beside its tasks, which share its few processors: no profile
# of every 10 ms that nobody looks at, and a look at itself every few seconds.
_QUIET = {
    'distributed.worker.profile.enabled': False,
    'distributed.admin.tick.interval': '1s',
    'distributed.admin.system-monitor.interval': '5s',
    'distributed.admin.system-monitor.gil.enabled': False,
    'distributed.worker.memory.monitor-interval': '1s',
}


class DaskBackend:
    """One task per bag on a Dask cluster, results joined in a tree.

    Tasks change nothing that they are given. When a worker is lost, the scheduler repeats its
    tasks elsewhere, and every bag still counts once.

    Args:
        scheduler: Address of the scheduler; empty: a cluster of processes on this machine.
        workers: Number of processes of a cluster on this machine.
        progress: Called with 1 after each bag.

    Raises:
        MissingDependencyError: dask.distributed is not installed.
        TrainingError: The scheduler does not answer.
    """

    def __init__(
        self, scheduler: str = '', workers: int = 2,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Connect to the cluster."""
        try:
            import distributed
        except ImportError as error:
            raise MissingDependencyError(
                '--engine dask needs dask.distributed; install it: '
                'pip install "proemlc_ros[dask]"') from error
        self._progress = progress
        self._dask: Any = distributed  # its functions have no types
        try:
            self.client = (
                self._dask.Client(scheduler, timeout=CONNECT_TIMEOUT) if scheduler else
                self._local_client(workers))
        except (OSError, TimeoutError, ValueError) as error:
            raise TrainingError(f'the Dask scheduler {scheduler} does not answer: {error}') from (
                error)

    def _local_client(self, workers: int) -> Any:
        import dask
        # It listens on loopback only, its status page included.
        with dask.config.set(_QUIET):
            return self._dask.Client(n_workers=workers, threads_per_worker=1, host='127.0.0.1',
                                     dashboard_address='127.0.0.1:0')

    def close(self) -> None:
        """Disconnect; a cluster on this machine ends."""
        self.client.close()

    def sums_of(self, model: ProEMLC, bags: BagSet,
                work: Callable[[ProEMLC, BagSet, Path], BagSums]) -> BagSums:
        """Return the sums of work(model, bags, path) for every path."""
        shared = self.client.scatter(model, broadcast=True)
        level = [self.client.submit(work, shared, bags, path, pure=False) for path in bags.paths]
        leaves = list(level)
        while len(level) > 1:
            pairs = [level[place:place + 2] for place in range(0, len(level), 2)]
            level = [self.client.submit(BagSums.plus, *pair, pure=False)
                     if len(pair) == 2 else pair[0] for pair in pairs]
        for _ in self._dask.as_completed(leaves):
            self._progress(1)
        joined: BagSums = level[0].result()
        return joined


@dataclass
class CollectedSamples:
    """Annotations with their features, of all bags in turn.

    Attributes:
        annotations: In the order in which they came.
        extractor: What made the features; empty: not stated.
        rejects: Numbers of what was rejected, by cause.
        notes: Defects of the bags.
    """

    annotations: list[Annotation] = field(default_factory=list)
    extractor: str = ''
    rejects: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, bags: BagSet) -> CollectedSamples:
        """Collect the samples of bags; of a journal, those in force, with their labels now.

        Raises:
            BagError: A bag cannot be read, or there is nothing to learn.
        """
        samples = cls()
        for path in bags.paths:
            samples._add(bags, path)
        if not samples.annotations:
            raise _nothing_learnt(samples.rejects)
        return samples

    def arguments(self) -> dict[str, Any]:
        """Return the samples as the learner takes them."""
        return {'X': np.array([said.matched_features for said in self.annotations]),
                'labels': [accepted_labels(said) for said in self.annotations]}

    def digests(self) -> frozenset[bytes]:
        """Return what tells the samples from others."""
        return frozenset(digest_of(said.matched_features) for said in self.annotations)

    def selection(self, most: int) -> Selection:
        """Return the settings that suit the samples, of at most so many hidden neurons."""
        given = self.arguments()
        return plan_for(given['X'], given['labels'], most=most).selection

    def model(self, settings: dict[str, Any], most: int) -> ProEMLC:
        """Return the model that all samples decide on; see core/selection/renewal.py.

        Args:
            settings: Of which threshold, dtype and seed are kept.
            most: Hidden neurons at most.
        """
        model = renewed(**self.arguments(), kept=Options.from_dict(settings), most=most)
        model.extra['extractor'] = self.extractor
        return model

    def _add(self, bags: BagSet, path: Path) -> None:
        stream = AnnotationStream(bags.rules)
        stream.expected.extractor = self.extractor
        reading = BagSteps(bags, path, stream, as_it_stands=True)
        blocks = list(reading.annotation_blocks())
        self.notes += reading.notes
        self.annotations += chain.from_iterable(block.annotations() for block in blocks)
        self.rejects.update(stream.rejects)
        self.extractor = self.extractor or stream.expected.extractor


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


def _nothing_learnt(rejects: Mapping[str, int]) -> BagError:
    return BagError('the bags have no annotations that can be learnt; rejected: '
                    f'{causes_of(rejects)}')


def train(
    bags: BagSet, settings: dict[str, Any], start: ProEMLC | None = None,
    backend: DaskBackend | None = None,
) -> tuple[ProEMLC, BagSums]:
    """Train a model on bags.

    Args:
        bags: Bags to learn from.
        settings: Settings of a new model.
        start: A trained model to continue with; None: a new one.
        backend: Where the work is done; None: in this process, bag after bag.

    Returns:
        The model, and the sums with notes and rejects.

    Raises:
        BagError: A bag cannot be read, or there is nothing to learn.
    """
    empty = _layer_model(bags, settings) if start is None else start.empty_copy()
    if start is not None:
        empty.extra['extractor'] = start.extra.get('extractor', '')
    if backend is None:
        total = reduce(BagSums.plus, (_sums_of_bag(empty, bags, path) for path in bags.paths))
    else:
        total = backend.sums_of(empty, bags, _sums_of_bag)
    if not total.sums.samples:
        raise _nothing_learnt(total.rejects)
    if start is not None and start.samples:
        total.sums.merge(learnt_sums(start))
    model = _young(bags, settings, total) if start is None else None
    if model is None:
        model = ProEMLC.from_sums(total.sums)
    model.extra['extractor'] = total.extractor
    return model, total


def _layer_model(bags: BagSet, settings: dict[str, Any]) -> ProEMLC:
    """Return an empty model whose hidden layer is fixed, by the first samples where it needs them.

    What the settings leave open follows the features of the first bag, as in the node. A journal
    whose model was renewed has its layer.

    Raises:
        BagError: There is nothing to learn from.
    """
    renewed = journal_model(bags.paths[0])
    if (renewed is not None and not renewed.warming_up
            and renewed.options.as_dict() == settings):
        return renewed
    model = _first_learnt(bags, settings)
    if model.warming_up:
        model.fix_layer()
    return model.empty_copy()


def _young(bags: BagSet, settings: dict[str, Any], total: BagSums) -> ProEMLC | None:
    """Return the model of a journal whose layer still waits for samples, as it runs; else None.

    Of other bags the layer is fixed, since it is all that their parts share.
    """
    if len(bags.paths) > 1 or open_journal(bags.paths[0]) is None:
        return None
    renewed = journal_model(bags.paths[0])
    if renewed is not None and not renewed.warming_up:
        return None
    model = _first_learnt(bags, settings, total.sums.labels.names)
    return model if model.warming_up else None


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
        steps = _steps(replace(bags, parallel=False, progress=None), path, model)
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


def _sums_of_bag(model: ProEMLC, bags: BagSet, path: Path) -> BagSums:
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
