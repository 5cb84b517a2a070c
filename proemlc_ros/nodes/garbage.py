# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Python's garbage collection in a node that runs for days."""

from __future__ import annotations

import gc

# Objects after which the youngest are looked through; Python's own choice is 700.
NEW_OBJECTS = 20_000


def collect_rarely() -> None:
    """Let garbage collection wait for more new objects.

    What a node imports is 100,000 objects that stay, and each wait of rclpy's executor makes
    hundreds that need no collection.
    """
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])


def pass_over_what_is_there() -> None:
    """Let garbage collection pass over all that a node was made of.

    To look through it stops the node's threads for 30 ms. So it is not even collected once: of
    what a start leaves there are few kilobytes, kept from now on.
    """
    gc.freeze()
