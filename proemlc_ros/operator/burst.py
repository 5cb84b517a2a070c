# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bursts: many samples of one label, taught while a key is held down; near copies are left out."""

from __future__ import annotations

import re
from collections import OrderedDict, deque

import numpy as np

from proemlc_ros.records import Vector

# Vectors of one burst that a new one is compared with, the last ones.
_COMPARED = 50
# Bursts that are remembered; several people may record at once.
_MOST_BURSTS = 32
_REQUEST = re.compile(r'burst:([0-9a-f]{12}):(\d{1,9})')


def burst_request(burst: str, number: int) -> str:
    """Return the request id of one sample of a burst; the journal keeps it.

    >>> burst_request('0123456789ab', 4)
    'burst:0123456789ab:4'
    """
    return f'burst:{burst}:{number}'


def burst_of(request_id: str) -> str:
    """Return the burst that a request belongs to, empty where it is of none.

    >>> burst_of('burst:0123456789ab:4'), burst_of('another id')
    ('0123456789ab', '')
    """
    found = _REQUEST.fullmatch(request_id)
    return found[1] if found else ''


class NearCopies:
    """Tells which samples of a burst show nothing new.

    Args:
        distance: from one vector to another, relative to its length, below which it is a near
            copy; 0 leaves out identical ones only.

    >>> copies = NearCopies(0.1)
    >>> [copies.is_near('b', np.array([x, 1.0], np.float32)) for x in (1.0, 1.01, 1.5)]
    [False, True, False]
    """

    def __init__(self, distance: float) -> None:
        self._distance = distance
        self._kept: OrderedDict[str, deque[Vector]] = OrderedDict()

    def is_near(self, burst: str, vector: Vector) -> bool:
        """Tell whether a vector is a near copy of one of its burst; if not, it is kept."""
        kept = self._kept.setdefault(burst, deque(maxlen=_COMPARED))
        if len(self._kept) > _MOST_BURSTS:
            self._kept.popitem(last=False)
        limit = self._distance * float(np.linalg.norm(vector))
        if any(other.shape == vector.shape
               and float(np.linalg.norm(other - vector)) <= limit for other in kept):
            return True
        kept.append(vector)
        return False
