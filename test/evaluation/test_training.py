# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Training on bags: equal to learning by hand, however the samples are split."""

import tracemalloc

import numpy as np
import pytest
from split_bags import DRAWN, RELU, assert_same, write_parts

from proemlc_ros.bags.writer import BagWriter, make_bag
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation import training
from proemlc_ros.evaluation.backends import LocalBackend
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.training import train
from proemlc_ros.records import Annotation, StampedVector


@pytest.mark.parametrize('settings', [RELU, DRAWN])
def test_any_split_gives_the_model_learnt_by_hand(tmp_path, samples, settings):
    rows, labels = [v for v, _ in samples], [names for _, names in samples]
    by_hand = ProEMLC(**settings)
    by_hand.learn(np.array(rows), labels)
    by_hand.calibrate(np.array(rows), labels)
    for ends in ((), (100,), (1, 7, 120, 399)):
        paths = write_parts(tmp_path / str(len(ends)), samples, ends)
        model, total = train(BagSet(paths), settings, LocalBackend())
        assert_same(model, by_hand, rows)
        np.testing.assert_allclose(model.thresholds, by_hand.thresholds, atol=1e-12)
        assert model.predict(rows) == by_hand.predict(rows)
        assert total.rejects == {}


def test_the_order_of_bags_does_not_matter(tmp_path, samples):
    paths = write_parts(tmp_path, samples, (50, 200, 300))
    first, _ = train(BagSet(paths), RELU, LocalBackend())
    second, _ = train(BagSet(paths[::-1]), RELU, LocalBackend())
    assert_same(first, second, [v for v, _ in samples])


def test_a_saved_model_continues(tmp_path, samples):
    paths = write_parts(tmp_path, samples, (150,))
    start, _ = train(BagSet(paths[:1]), RELU, LocalBackend())
    more, _ = train(BagSet(paths[1:]), RELU, LocalBackend(), start)
    whole, _ = train(BagSet(paths), RELU, LocalBackend())
    assert_same(more, whole, [v for v, _ in samples])


def test_incomplete_annotations_and_rejects(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        for number, (values, labels) in enumerate(samples[:50], 1):
            stamp = number * 10**9
            bag.write_vector(StampedVector(stamp, values, 'maker/1'), stamp)
            bag.write_annotation(Annotation(stamp, labels, complete=number % 5 > 0), stamp + 1)
        bag.write_annotation(Annotation(1, ('lost',)), 10**12)
    model, total = train(BagSet([tmp_path / 'bag']), RELU, LocalBackend())
    assert model.samples == 50
    assert total.rejects == {'unknown_stamp': 1}
    assert model.extra['extractor'] == 'maker/1'


def test_different_extractors_are_rejected(tmp_path, samples):
    for name in ('a/1', 'b/1'):
        make_bag(tmp_path / name[0], samples[:20], extractor=name)
    with pytest.raises(BagError, match='different extractors'):
        train(BagSet([tmp_path / 'a', tmp_path / 'b']), RELU, LocalBackend())


def test_nothing_to_learn(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(5, samples[0][0]), 5)
    with pytest.raises(BagError, match='no annotations that can be learnt'):
        train(BagSet([tmp_path / 'bag']), RELU, LocalBackend())


@pytest.mark.slow
def test_memory_does_not_depend_on_the_number_of_samples(tmp_path, samples):
    peaks = []
    # Beyond the 1000 feature vectors that wait for annotations.
    for times in (4, 16):
        path = tmp_path / str(times)
        make_bag(path, samples * times, 'sqlite3')
        tracemalloc.start()
        training.sums_of_bag(
            training.layer_model(BagSet([path]), RELU), BagSet([path]), path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.1
