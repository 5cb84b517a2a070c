# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages as a broken or hostile peer sends them: bytes that cannot be read."""

from __future__ import annotations

from typing import Any

from rclpy.serialization import serialize_message


def damaged(message: Any) -> list[bytes]:
    """Return what is left of a serialized message after damage of several kinds.

    Not nothing at all: no DDS reader takes that, so that a reliable writer sends it again and
    holds back its own later messages, but no one else's, until it has left the writer's queue.
    """
    whole = serialize_message(message)
    return [b'\xff\xff\xff\xff' + whole[4:],  # no encoding that there is
            whole[:len(whole) // 2], whole[:4], whole[:2],
            whole[:4] + bytes([255]) * 60]  # lengths beyond the end
