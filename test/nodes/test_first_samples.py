# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The first minute with a live classifier: one sample of a label is enough."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

from proemlc_ros.msg import Prediction

pytestmark = pytest.mark.slow

RANDOM = np.random.default_rng(0)
THINGS = 4.0 * RANDOM.normal(size=(12, 40))


def test_one_sample_of_each_label_is_enough(classifier):
    _, partner = classifier('hidden_size:=500', 'activation:=laplacian', 'scaling:=asinh',
                            'ridge:=0.1')  # the node's own defaults
    stamps = iter(range(1, 1000))

    def look(thing):
        stamp = float(next(stamps))
        seen = partner.predict(stamp, (THINGS[thing] + RANDOM.normal(size=40)).astype(np.float32))
        values = np.array(seen.probabilities, np.float32)
        assert seen.decided_by == Prediction.BY_PROBABILITY and len(values) == len(seen.scores)
        assert (values > np.float32(seen.threshold)).sum() == len(seen.labels)
        return stamp, seen

    # Before anything is taught, and after one sample of one label.
    stamp = float(next(stamps))
    partner.predict(stamp, THINGS[0].astype(np.float32))
    assert partner.annotate(stamp, ['thing 0']).success
    _, known = look(0)
    _, other = look(1)
    assert list(known.labels) == ['thing 0'] and list(other.labels) == []
    assert other.novelty > 0.8 > known.novelty
    # Ten labels, one sample each.
    for thing in range(1, 10):
        stamp, _ = look(thing)
        assert partner.annotate(stamp, [f'thing {thing}']).success
    seen = [look(thing)[1] for thing in range(10) for _ in range(2)]
    assert [list(message.labels) for message in seen] == [
        [f'thing {thing}'] for thing in range(10) for _ in range(2)]
    # An empty scene, taught three times as showing nothing.
    for _ in range(3):
        stamp, _ = look(10)
        assert partner.annotate(stamp, []).success
    assert list(look(10)[1].labels) == []
    table = partner.spin_until(lambda: [message for message in partner.heard['labels']
                                        if message.samples == 13])[-1]
    assert (table.decision, table.at_least) == ('expected_f1', 0)
    assert len(table.thresholds) == 10
