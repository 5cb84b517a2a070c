# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The record of learnt samples."""

import pickle

import numpy as np
from scipy import sparse

from proemlc_ros.core.unlearning import SampleFilter, checksum_of_vector, checksums_of_rows

X = np.random.default_rng(0).normal(size=(3000, 4))


def test_what_was_added_is_found_and_what_was_not_is_not():
    ledger = SampleFilter()
    checksums = checksums_of_rows(X, [True] * 3000)
    for checksum in checksums[:2000]:
        ledger.add(checksum)
    assert all(checksum in ledger for checksum in checksums[:2000])
    assert sum(checksum in ledger for checksum in checksums[2000:]) <= 1
    for checksum in checksums[:2000]:
        ledger.remove(checksum)
    assert not ledger.counts.any()


def test_the_rate_of_mistakes_is_the_documented_one():
    ledger = SampleFilter()
    random = np.random.default_rng(1)
    for checksum in random.integers(2 ** 32, size=65536).tolist():
        ledger.add(checksum)
    mistaken = np.mean([checksum in ledger for checksum in random.integers(2 ** 32, size=5000)
                        .tolist()])
    assert abs(mistaken - (1 - np.exp(-1)) ** 4) < 0.03


def test_completeness_and_content_make_the_checksum():
    assert checksum_of_vector(X[0], True) == checksums_of_rows(X[:1], [True])[0]
    assert checksum_of_vector(X[0], True) != checksum_of_vector(X[0], False)
    one, two = checksums_of_rows(sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]]), [True, True])
    assert one != two


def test_full_counters_stay_full():
    ledger = SampleFilter()
    ledger.counts[:] = 65534
    for _ in range(3):
        ledger.add(7)
    ledger.remove(7)
    assert 7 in ledger
    assert ledger.counts.max() == 65535


def test_many_at_once_are_noted_as_one_by_one():
    checksums = [*checksums_of_rows(X, [True] * len(X)), 7, 7, 7]
    one, all_at_once = SampleFilter(), SampleFilter()
    for ledger in (one, all_at_once):
        ledger.counts[7] = 65533  # of the first table; it fills up on the way
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
