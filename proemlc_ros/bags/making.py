# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A recording made of samples: each a feature vector, and soon after it its annotation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from proemlc_ros.bags.writing import BagWriter
from proemlc_ros.classifier.records import NANOSECONDS, Annotation, StampedVector, Vector

# Any moment but zero, which means "the newest" to an annotation.
DEFAULT_START = 1_700_000_000 * NANOSECONDS


def make_bag(
    path: str | Path, samples: Iterable[tuple[Vector, tuple[str, ...]]], storage: str = 'mcap',
    rate: float = 10.0, start: int = DEFAULT_START, extractor: str = '',
) -> int:
    """Write samples to a new recording.

    Args:
        path: The folder to make.
        samples: Feature values and label names of each sample, in the order to be played.
        storage: 'mcap' or 'sqlite3'.
        rate: Samples a second when it is played.
        start: Time of the first sample in nanoseconds.
        extractor: Written into the feature vectors.

    Returns:
        The number of samples.

    Raises:
        BagError: The folder exists already, or cannot be written.

    """
    period = round(NANOSECONDS / rate)
    count = 0
    with BagWriter(path, storage) as bag:
        for count, (values, labels) in enumerate(samples, 1):
            time = start + (count - 1) * period
            bag.write_moment(StampedVector(time, values, extractor), time)
            # Half a period later: after its own features, before the next.
            bag.write_annotation(Annotation(time, labels), time + period // 2)
    return count
