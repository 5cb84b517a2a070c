# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collection in a node that runs for days."""

from __future__ import annotations

import gc

# New objects after which the youngest are looked through, while a node runs and before; Python's
# own choice is 700.
NEW_OBJECTS, BEFORE = 20_000, 200_000


def start_without_collection() -> None:
    """Let garbage collection wait for more objects than a node is made of.

    They stay, some 60,000 of them; to look through them while they are imported takes 20 ms.
    """
    gc.set_threshold(BEFORE, *gc.get_threshold()[1:])


def collect_rarely() -> None:
    """Let garbage collection pass over what is there, and wait for more new objects.

    Each wait of rclpy's executor makes hundreds of objects that need no collection, and a look
    through all that a node was made of stops its threads for 30 ms. So what is there is not
    collected once: a start leaves a few kilobytes of garbage, which are kept.
    """
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
