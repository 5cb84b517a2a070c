# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""When a message was measured."""

from __future__ import annotations

from typing import Any


def stamp_of(message: Any) -> int:
    """Return the header's stamp in nanoseconds."""
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
