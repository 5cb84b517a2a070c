# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Time stamps of messages, in nanoseconds."""

from __future__ import annotations

from typing import Any

NANOSECONDS = 1_000_000_000
"""Per second."""


def stamp_of(header: Any) -> int:
    """Return the stamp of a std_msgs/Header in nanoseconds; 0 where there is no stamp.

    Args:
        header: of rclpy or of the rosbags library; None for a message without a header.

    """
    stamp = getattr(header, 'stamp', None)
    return 0 if stamp is None else int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)
