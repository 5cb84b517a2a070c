# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which part of the chain has stopped: camera, features, or classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

# Seconds without a message after which a stream has stopped, at least.
SHORTEST = 1.5
# The same, in usual times between two messages; slow streams are given more time.
PERIODS = 4.0
# Seconds, at most.
LONGEST = 20.0
# Weight of the newest time between two messages in the usual one.
_WEIGHT = 0.2


class ChainPart(Enum):
    """A part of the chain, from the camera on; the values are words for people."""

    CAMERA = 'camera: no picture'
    FEATURES = 'features: none'
    PREDICTIONS = 'classifier: no prediction'


@dataclass(slots=True)
class _Stream:
    last: float
    period: float = 0.0


@dataclass(slots=True)
class StreamMonitor:
    """Watches the streams; all times are seconds on a steady clock.

    >>> monitor = StreamMonitor()
    >>> monitor.note(ChainPart.CAMERA, 0.0); monitor.note(ChainPart.CAMERA, 0.1)
    >>> monitor.stopped(1.0), monitor.stopped(5.0)
    ('', 'camera: no picture for 5 s')
    """

    _streams: dict[ChainPart, _Stream] = field(default_factory=dict)

    def note(self, part: ChainPart, now: float) -> None:
        """Note a message of a part."""
        stream = self._streams.get(part)
        if stream is None:
            self._streams[part] = _Stream(now)
            return
        gap = min(now - stream.last, LONGEST)
        # A pause of the stream says nothing of its usual period.
        if gap < PERIODS * max(stream.period, SHORTEST):
            stream.period += _WEIGHT * (gap - stream.period)
        stream.last = now

    def stopped(self, now: float) -> str:
        """Return the first part of the chain that has stopped, in words; empty: none has.

        A part that never sent anything is not there: features may come without a camera.
        """
        for part in ChainPart:
            stream = self._streams.get(part)
            if stream is None:
                continue
            silence = now - stream.last
            if silence > min(max(SHORTEST, PERIODS * stream.period), LONGEST):
                return f'{part.value} for {silence:.0f} s'
        return ''
