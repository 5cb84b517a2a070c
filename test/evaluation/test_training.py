# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training on bags, in one process and on a Dask cluster."""

import os
import signal
import time
import tracemalloc
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from split_bags import DRAWN, RELU, assert_same, write_parts

from proemlc_ros.bags.writer import BagWriter, make_bag
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BagError, TrainingError
from proemlc_ros.evaluation import training
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.training import BagSums, DaskBackend, _layer_model, _sums_of_bag, train
from proemlc_ros.records import Annotation, StampedVector


@pytest.mark.parametrize('settings', [RELU, DRAWN])
def test_any_split_gives_the_model_learnt_by_hand(tmp_path, samples, settings):
    rows, labels = [v for v, _ in samples], [names for _, names in samples]
    by_hand = ProEMLC(**settings)
    by_hand.learn(np.array(rows), labels)
    by_hand.calibrate(np.array(rows), labels)
    for ends in ((), (100,), (1, 7, 120, 399)):
        paths = write_parts(tmp_path / str(len(ends)), samples, ends)
        model, total = train(BagSet(paths), settings)
        assert_same(model, by_hand, rows)
        np.testing.assert_allclose(model.thresholds, by_hand.thresholds, atol=1e-12)
        assert model.predict(rows) == by_hand.predict(rows)
        assert total.rejects == {}


def test_the_order_of_bags_does_not_matter(tmp_path, samples):
    paths = write_parts(tmp_path, samples, (50, 200, 300))
    first, _ = train(BagSet(paths), RELU)
    second, _ = train(BagSet(paths[::-1]), RELU)
    assert_same(first, second, [v for v, _ in samples])


def test_a_saved_model_continues(tmp_path, samples):
    paths = write_parts(tmp_path, samples, (150,))
    start, _ = train(BagSet(paths[:1]), RELU)
    more, _ = train(BagSet(paths[1:]), RELU, start)
    whole, _ = train(BagSet(paths), RELU)
    assert_same(more, whole, [v for v, _ in samples])


def test_incomplete_annotations_and_rejects(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, (values, labels) in enumerate(samples[:50], 1):
            stamp = number * 10**9
            bag.write_vector(StampedVector(stamp, values, 'maker/1'), stamp)
            bag.write_annotation(Annotation(stamp, labels, complete=number % 5 > 0), stamp + 1)
        bag.write_annotation(Annotation(1, ('lost',)), 10**12)
    model, total = train(BagSet([tmp_path / 'bag']), RELU)
    assert model.samples == 50
    assert total.rejects == {'unknown_stamp': 1}
    assert model.extra['extractor'] == 'maker/1'


def test_different_extractors_are_rejected(tmp_path, samples):
    for name in ('a/1', 'b/1'):
        make_bag(tmp_path / name[0], samples[:20], extractor=name)
    with pytest.raises(BagError, match='different extractors'):
        train(BagSet([tmp_path / 'a', tmp_path / 'b']), RELU)


def test_nothing_to_learn(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(5, samples[0][0]), 5)
    with pytest.raises(BagError, match='no annotations that can be learnt'):
        train(BagSet([tmp_path / 'bag']), RELU)


@pytest.mark.slow
def test_memory_does_not_depend_on_the_number_of_samples(tmp_path, samples):
    peaks = []
    # Beyond the 1000 feature vectors that wait for annotations.
    for times in (4, 16):
        path = tmp_path / str(times)
        make_bag(path, samples * times, 'sqlite3')
        tracemalloc.start()
        training._sums_of_bag(
            training._layer_model(BagSet([path]), RELU), BagSet([path]), path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.1


@pytest.fixture(scope='module')
def cluster():
    """Return a back end with two worker processes."""
    pytest.importorskip('distributed', reason='needs dask.distributed')
    backend = DaskBackend(workers=2)
    yield backend
    backend.close()


def test_progress_is_reported_by_messages(tmp_path, samples):
    done = []
    bags = BagSet(write_parts(tmp_path, samples, (100, 200)))
    train(replace(bags, progress=done.append), RELU)
    assert len(done) > 1 and sum(done) == bags.count_messages()


@pytest.mark.slow
@pytest.mark.parametrize('settings', [RELU, DRAWN])
def test_dask_equals_one_process(tmp_path, samples, cluster, settings):
    paths = write_parts(tmp_path, samples, (30, 90, 200, 333))
    here, _ = train(BagSet(paths), settings)
    there, total = train(BagSet(paths), settings, backend=cluster)
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
    deadline = time.monotonic() + 240
    while path != bags.paths[0] and not (path.parent / 'killed').exists():
        if time.monotonic() > deadline:
            raise TimeoutError('no worker was killed')
        time.sleep(0.01)
    return _sums_of_bag(model, bags, path)


@pytest.mark.slow
def test_a_lost_worker_costs_nothing(tmp_path, samples):
    """Kill -9 one of two workers midway: its work is repeated, and nothing counts twice."""
    pytest.importorskip('distributed', reason='needs dask.distributed')
    bags = BagSet(write_parts(tmp_path, samples, (50, 100, 150, 200, 250, 300, 350)))
    model = _layer_model(bags, RELU)
    here = reduce(BagSums.plus, (_sums_of_bag(model, bags, path) for path in bags.paths))

    def kill_one(_):
        if not (tmp_path / 'killed').exists():
            pids = backend.client.run(os.getpid)
            os.kill(next(iter(pids.values())), signal.SIGKILL)
            (tmp_path / 'killed').touch()

    backend = DaskBackend(workers=2, progress=kill_one)
    try:
        there = backend.sums_of(model, bags, sums_once_killed)
    finally:
        backend.close()
    assert (tmp_path / 'killed').exists()
    assert there.sums.samples == 400
    assert_same(ProEMLC.from_sums(here.sums), ProEMLC.from_sums(there.sums),
                [v for v, _ in samples])


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr('proemlc_ros.evaluation.training.CONNECT_TIMEOUT', 2)
    pytest.importorskip('distributed', reason='needs dask.distributed')
    with pytest.raises(TrainingError, match='does not answer'):
        DaskBackend('tcp://127.0.0.1:9')
