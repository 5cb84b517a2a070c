# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collection in a node that runs for days."""

from __future__ import annotations

import gc

# Objects after which the youngest are looked through; Python's own choice is 700.
NEW_OBJECTS = 20_000


def collect_rarely() -> None:
    """Let garbage collection pass over what is there, and wait for more new objects.

    Each wait of rclpy's executor makes hundreds of objects that need no collection, and a look
    through all that a node was made of stops its threads for 30 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
