# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training back ends: the same result in this process and on a Dask cluster."""

import os
import signal
import time

import numpy as np
import pytest
from split_bags import DRAWN, RELU, assert_same, write_parts

from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import TrainingError
from proemlc_ros.evaluation.backends import DaskBackend, LocalBackend
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.training import BagSums, layer_model, sums_of_bag, train


@pytest.fixture(scope='module')
def cluster():
    """Return a back end with two worker processes."""
    pytest.importorskip('distributed', reason='needs dask.distributed')
    backend = DaskBackend(workers=2)
    yield backend
    backend.close()


def test_progress_is_reported_per_bag(tmp_path, samples):
    done = []
    paths = write_parts(tmp_path, samples, (100, 200))
    LocalBackend(done.append).map_reduce(
        lambda model, bags, path: path.name, str.__add__, None, BagSet(paths))
    assert done == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize('settings', [RELU, DRAWN])
def test_dask_equals_one_process(tmp_path, samples, cluster, settings):
    paths = write_parts(tmp_path, samples, (30, 90, 200, 333))
    here, _ = train(BagSet(paths), settings, LocalBackend())
    there, total = train(BagSet(paths), settings, cluster)
    assert_same(here, there, [v for v, _ in samples])
    np.testing.assert_allclose(here.thresholds, there.thresholds)
    assert total.sums.samples == 400


@pytest.mark.slow
def test_a_cluster_of_our_own_spends_its_time_on_the_tasks(cluster):
    import dask
    profiled = cluster.client.run(dask.config.get, 'distributed.worker.profile.enabled')
    assert list(profiled.values()) == [False, False]
    assert dask.config.get('distributed.worker.profile.enabled'), 'of other clusters'


def sums_once_killed(model, bags, path):
    """Add up a bag; all but the first wait until a worker was killed."""
    deadline = time.monotonic() + 60
    while path != bags.paths[0] and not (path.parent / 'killed').exists():
        if time.monotonic() > deadline:
            raise TimeoutError('no worker was killed')
        time.sleep(0.01)
    return sums_of_bag(model, bags, path)


@pytest.mark.slow
def test_a_lost_worker_costs_nothing(tmp_path, samples):
    """Kill -9 one of two workers midway: its work is repeated, and nothing counts twice."""
    pytest.importorskip('distributed', reason='needs dask.distributed')
    bags = BagSet(write_parts(tmp_path, samples, (50, 100, 150, 200, 250, 300, 350)))
    model = layer_model(bags, RELU)
    here = LocalBackend().map_reduce(sums_of_bag, BagSums.plus, model, bags)

    def kill_one(_):
        if not (tmp_path / 'killed').exists():
            pids = backend.client.run(os.getpid)
            os.kill(next(iter(pids.values())), signal.SIGKILL)
            (tmp_path / 'killed').touch()

    backend = DaskBackend(workers=2, progress=kill_one)
    try:
        there = backend.map_reduce(sums_once_killed, BagSums.plus, model, bags)
    finally:
        backend.close()
    assert (tmp_path / 'killed').exists()
    assert there.sums.samples == 400
    assert_same(ProEMLC.from_sums(here.sums), ProEMLC.from_sums(there.sums),
                [v for v, _ in samples])


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr('proemlc_ros.evaluation.backends.CONNECT_TIMEOUT', 2)
    pytest.importorskip('distributed', reason='needs dask.distributed')
    with pytest.raises(TrainingError, match='does not answer'):
        DaskBackend('tcp://127.0.0.1:9')
