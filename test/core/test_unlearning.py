# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The filter of learnt samples, and scores as if a sample had been left out."""

import pickle

import numpy as np
from core_reference import batch_scores, plain, samples
from scipy import sparse

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage import container
from proemlc_ros.core.thresholds import best_choice
from proemlc_ros.core.unlearning import SampleFilter, checksum_of_vector, checksums_of_rows

ROWS = np.random.default_rng(0).normal(size=(3000, 4))
X, ANNOTATIONS = samples(120, labels=6)


def test_what_was_added_is_found_and_what_was_not_is_not():
    sample_filter = SampleFilter()
    checksums = checksums_of_rows(ROWS, [True] * 3000)
    for checksum in checksums[:2000]:
        sample_filter.add(checksum)
    assert all(checksum in sample_filter for checksum in checksums[:2000])
    assert sum(checksum in sample_filter for checksum in checksums[2000:]) <= 1
    for checksum in checksums[:2000]:
        sample_filter.remove(checksum)
    assert not sample_filter.counts.any()


def test_the_rate_of_mistakes_is_the_documented_one():
    sample_filter = SampleFilter()
    random = np.random.default_rng(1)
    for checksum in random.integers(2 ** 32, size=65536).tolist():
        sample_filter.add(checksum)
    mistaken = np.mean([checksum in sample_filter
                        for checksum in random.integers(2 ** 32, size=5000).tolist()])
    assert abs(mistaken - (1 - np.exp(-1)) ** 4) < 0.03


def test_completeness_and_content_make_the_checksum():
    assert checksum_of_vector(ROWS[0], True) == checksums_of_rows(ROWS[:1], [True])[0]
    assert checksum_of_vector(ROWS[0], True) != checksum_of_vector(ROWS[0], False)
    one, two = checksums_of_rows(sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]]), [True, True])
    assert one != two


def test_full_counters_stay_full():
    sample_filter = SampleFilter()
    sample_filter.counts[:] = 65534
    for _ in range(3):
        sample_filter.add(7)
    sample_filter.remove(7)
    assert 7 in sample_filter
    assert sample_filter.counts.max() == 65535


def test_many_at_once_are_noted_as_one_by_one():
    checksums = [*checksums_of_rows(ROWS, [True] * len(ROWS)), 7, 7, 7]
    one, all_at_once = SampleFilter(), SampleFilter()
    for sample_filter in (one, all_at_once):
        sample_filter.counts[7] = 65533  # of the first table; it fills up on the way
    for checksum in checksums:
        one.add(checksum)
    all_at_once.add_all(checksums)
    np.testing.assert_array_equal(all_at_once.counts, one.counts)
    assert all_at_once.counts.max() == 65535


def test_merge_copy_and_travel():
    one, two = SampleFilter(), SampleFilter()
    one.add(1)
    two.add(2)
    copied, travelled = one.copy(), pickle.loads(pickle.dumps(one))  # noqa: S301
    one.merge(two)
    assert 1 in one and 2 in one
    for other in (copied, travelled):
        assert 1 in other and 2 not in other
        other.add(2)
        assert 2 in other


def test_calibration_looks_past_samples_that_are_centres():
    model = plain(activation='laplacian', warmup=40, hidden_size=40)
    model.learn(X, ANNOTATIONS)
    others = model.copy()
    model.calibrate(X, ANNOTATIONS)
    others.calibrate(X[40:], ANNOTATIONS[40:])  # the first 40 are the centres
    assert model.to_bytes() == others.to_bytes()
    others.calibrate(X[:40], ANNOTATIONS[:40])  # nothing else to go by
    _, arrays = container.unpack(others.to_bytes())
    assert arrays['thresholds.numbers'][1] == 40  # samples observed


def test_calibration_restores_what_sums_cannot_know():
    model = plain(hidden_size=10)
    sums = model.partial_sums(width=7)
    sums.add(X, ANNOTATIONS)
    trained = ProEMLC.from_sums(sums)
    assert (trained.thresholds == 0.0).all()
    trained.calibrate(X, ANNOTATIONS)
    # By hand: refit without each sample.
    left_out = np.array([batch_scores(trained, np.delete(X, place, axis=0),
                                      ANNOTATIONS[:place] + ANNOTATIONS[place + 1:],
                                      X[place:place + 1])[0] for place in range(120)])
    present = np.array([[name in annotation for name in trained.labels]
                        for annotation in ANNOTATIONS])
    expected = best_choice(left_out, present)
    predicted = trained.classify(X[0])
    assert (predicted.threshold, predicted.at_least) == expected
    backwards = ProEMLC.from_sums(sums)
    backwards.calibrate(X[::-1], ANNOTATIONS[::-1])
    assert backwards.predict(X) == trained.predict(X)
