# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the recordings of a training are added up: in this process, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any, Protocol

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.fleet.merging import adopt_thresholds, learnt_sums
from proemlc_ros.core.thresholds import Thresholds
from proemlc_ros.errors import MissingDependencyError, TrainingError
from proemlc_ros.evaluation.runs import BagSet
from proemlc_ros.evaluation.training import (
    BagSums,
    check_learnt,
    evidence_of_bag,
    layer_model,
    sums_of_bag,
    trained_model,
)

# Seconds to wait for a scheduler.
CONNECT_TIMEOUT = 15

Work = Callable[[ProEMLC, BagSet, Path], Any]
Join = Callable[[Any, Any], Any]


class TrainingBackend(Protocol):
    """Does the same work for each recording and joins what comes out, in any order."""

    def map_reduce(
        self, work: Work, join: Join, model: ProEMLC, recordings: BagSet
    ) -> Any:
        """Return the joined results of work(model, recordings, path) for every path."""


class LocalBackend:
    """One recording after the other, in this process.

    Args:
        progress: Called after each recording.

    """

    def __init__(self, progress: Callable[[int], None] = lambda _: None) -> None:
        """Take what to call."""
        self._progress = progress

    def map_reduce(
        self, work: Work, join: Join, model: ProEMLC, recordings: BagSet
    ) -> Any:
        """Return the joined results of work(model, recordings, path) for every path."""
        return reduce(join, self._results(work, model, recordings))

    def _results(
        self, work: Work, model: ProEMLC, recordings: BagSet
    ) -> Iterable[Any]:
        for path in recordings.paths:
            yield work(model, recordings, path)
            self._progress(1)


class DaskBackend:
    """One task a recording on a Dask cluster, results joined in a tree.

    Tasks change nothing that they are given. When a worker is lost, the scheduler does its tasks
    again elsewhere, and every recording still counts once.

    Args:
        scheduler: Address of the scheduler; empty: a cluster of processes on this machine.
        workers: Number of processes of a cluster on this machine.
        progress: Called after each recording.

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
            from distributed import Client
        except ImportError as error:
            raise MissingDependencyError(
                'the engine dask needs dask.distributed; install it: '
                'pip install "proemlc_ros[dask]"') from error
        self._progress = progress
        try:
            # A cluster on this machine is heard on loopback only, its status page included.
            self.client = Client(scheduler, timeout=CONNECT_TIMEOUT) if scheduler else Client(
                n_workers=workers, threads_per_worker=1, host='127.0.0.1',
                dashboard_address='127.0.0.1:0')
        except (OSError, TimeoutError, ValueError) as error:
            raise TrainingError(f'the Dask scheduler {scheduler} does not answer: {error}') from (
                error)

    def close(self) -> None:
        """Disconnect; a cluster on this machine ends."""
        self.client.close()

    def map_reduce(
        self, work: Work, join: Join, model: ProEMLC, recordings: BagSet
    ) -> Any:
        """Return the joined results of work(model, recordings, path) for every path."""
        from distributed import as_completed
        shared = self.client.scatter(model, broadcast=True)
        level = [self.client.submit(work, shared, recordings, path, pure=False)
                 for path in recordings.paths]
        leaves = list(level)
        while len(level) > 1:
            pairs = [level[place:place + 2] for place in range(0, len(level), 2)]
            level = [self.client.submit(join, *pair, pure=False) if len(pair) == 2 else pair[0]
                     for pair in pairs]
        for _ in as_completed(leaves):
            self._progress(1)
        return level[0].result()


def train(
    recordings: BagSet, settings: dict[str, object], engine: TrainingBackend,
    start: ProEMLC | None = None,
) -> tuple[ProEMLC, BagSums]:
    """Train a model on recordings.

    Args:
        recordings: What to learn from.
        settings: Of a new model.
        engine: Where the work is done.
        start: A model that has learnt already and learns on; None: a new one.

    Returns:
        The model, and the sums with notes and rejects.

    Raises:
        BagError: A recording cannot be read, or there is nothing to learn.

    """
    untaught = layer_model(recordings, settings) if start is None else start.empty_copy()
    if start is not None:
        untaught.extra['extractor'] = start.extra.get('extractor', '')
    total = engine.map_reduce(sums_of_bag, _plus, untaught, recordings)
    check_learnt(total)
    if start is not None and start.samples:
        total.sums.merge(learnt_sums(start))
    model = trained_model(total)
    evidence = engine.map_reduce(evidence_of_bag, _merged, model, recordings)
    evidence.merge(total.sums.thresholds)
    adopt_thresholds(model, evidence)
    return model, total


def _plus(first: BagSums, second: BagSums) -> BagSums:
    return first.plus(second)


def _merged(first: Thresholds, second: Thresholds) -> Thresholds:
    both = first.copy()
    both.merge(second.copy())
    return both
