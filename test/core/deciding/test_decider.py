# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The samples that are kept to decide by."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.deciding.decider import KeptSample, Reservoir

RANDOM = np.random.default_rng(0)


def kept(checksum, target=1, complete=True):
    return KeptSample(checksum, np.zeros(2, np.float32), np.array([target], np.int8), complete,
                      -1, 0, 1)


def filled(checksums, capacity=20):
    reservoir = Reservoir(capacity=capacity)
    for checksum in checksums:
        reservoir.add(kept(int(checksum)))
    return reservoir


def content(reservoir):
    return [(sample.checksum, sample.times) for sample in reservoir.samples], reservoir.limit


def test_order_and_division_do_not_matter():
    checksums = RANDOM.integers(2 ** 32, size=300)
    whole = filled(checksums)
    assert len(whole) == 20 and len(set(content(whole)[0])) == 20
    assert content(filled(checksums[::-1])) == content(whole)
    first, second = filled(checksums[:100]), filled(checksums[100:])
    first.merge(second, [0], 1)
    assert content(first) == content(whole)


def test_a_sample_taken_back_leaves_the_others_as_if_it_had_never_come():
    checksums = RANDOM.integers(2 ** 32, size=300).tolist()
    whole = filled(checksums)
    for checksum in checksums[50:100]:
        whole.discard(kept(checksum))
    never = filled(checksums[:50] + checksums[100:])
    left = {sample.checksum for sample in whole.samples}
    assert left <= {sample.checksum for sample in never.samples}
    whole.discard(kept(1))  # never came
    assert {sample.checksum for sample in whole.samples} == left


def test_the_same_again_counts_twice_and_contradictions_stay_apart():
    reservoir = filled([7, 7, 7])
    assert content(reservoir)[0] == [(7, 3)]
    reservoir.add(kept(7, target=-1))
    assert len(reservoir) == 2
    reservoir.discard(kept(7))
    assert sorted(sample.times for sample in reservoir.samples) == [1, 2]


def test_with_forgetting_recent_samples_come_first():
    reservoir = Reservoir(forgetting=0.9, capacity=20)
    for born in range(500):
        reservoir.add(kept(int(RANDOM.integers(2 ** 32)))._replace(born=born))
    assert np.mean([sample.born for sample in reservoir.samples]) > 400


def test_labels_that_came_later_are_absent_or_unknown():
    assert kept(1).targets_for(3).tolist() == [1, -1, -1]
    assert kept(1, complete=False).targets_for(3).tolist() == [1, 0, 0]


def test_samples_added_together_are_kept_as_one_by_one():
    checksums = RANDOM.integers(2 ** 32, size=60).tolist()
    for parts in ([checksums[:8], checksums[8:15]], [checksums], [[7, 7, 8], [8, 9]],
                  [checksums[:19], checksums[19:25], checksums[:30]]):
        together, single = Reservoir(capacity=20), Reservoir(capacity=20)
        for part in parts:
            together.add_all([kept(checksum) for checksum in part])
            for checksum in part:
                single.add(kept(checksum))
        assert content(together) == content(single)


def test_a_sample_that_is_kept_is_counted_without_its_hidden_row():
    reservoir = filled([7, 8])
    said = kept(7).targets
    assert reservoir.add_again(7, said, True) and content(reservoir)[0] == content(
        filled([7, 8, 7]))[0]
    assert not reservoir.add_again(7, -said, True) and not reservoir.add_again(7, said, False)
    assert not reservoir.add_again(9, said, True) and not Reservoir().add_again(7, said, True)
    # A label that came later is absent from it.
    assert reservoir.add_again(7, np.array([1, -1], np.int8), True)
    assert not Reservoir(forgetting=0.9).add_again(7, said, True)
