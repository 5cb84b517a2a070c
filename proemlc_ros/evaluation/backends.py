# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training back ends: the same work for each bag, in this process or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, Protocol, TypeVar

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import MissingDependencyError, TrainingError
from proemlc_ros.evaluation.bag_steps import BagSet

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

Part = TypeVar('Part')
"""The result of one bag, or of several together."""


class TrainingBackend(Protocol):
    """Does the same work for each bag and joins the results, in any order."""

    def map_reduce(
        self, work: Callable[[ProEMLC, BagSet, Path], Part], join: Callable[[Part, Part], Part],
        model: ProEMLC, bags: BagSet,
    ) -> Part:
        """Return the joined results of work(model, bags, path) for every path."""


class LocalBackend:
    """One bag after the other, in this process.

    Args:
        progress: Called with 1 after each bag.

    """

    def __init__(self, progress: Callable[[int], None] = lambda _: None) -> None:
        """Take what to call."""
        self._progress = progress

    def map_reduce(
        self, work: Callable[[ProEMLC, BagSet, Path], Part], join: Callable[[Part, Part], Part],
        model: ProEMLC, bags: BagSet,
    ) -> Part:
        """Return the joined results of work(model, bags, path) for every path."""
        def result_of(path: Path) -> Part:
            part = work(model, bags, path)
            self._progress(1)
            return part

        return reduce(join, map(result_of, bags.paths))


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

    def map_reduce(
        self, work: Callable[[ProEMLC, BagSet, Path], Part], join: Callable[[Part, Part], Part],
        model: ProEMLC, bags: BagSet,
    ) -> Part:
        """Return the joined results of work(model, bags, path) for every path."""
        shared = self.client.scatter(model, broadcast=True)
        level = [self.client.submit(work, shared, bags, path, pure=False) for path in bags.paths]
        leaves = list(level)
        while len(level) > 1:
            pairs = [level[place:place + 2] for place in range(0, len(level), 2)]
            level = [self.client.submit(join, *pair, pure=False) if len(pair) == 2 else pair[0]
                     for pair in pairs]
        for _ in self._dask.as_completed(leaves):
            self._progress(1)
        joined: Part = level[0].result()
        return joined
