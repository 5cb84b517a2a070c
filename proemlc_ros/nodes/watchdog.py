# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ends a process in which no Python runs any more, so that it can be started again.

A call into the middleware that never returns holds the interpreter; matched_subscription.py tells
of one. Then no timer and no other thread runs, and Ctrl-C is not heard. The alarm of the operating
system needs no interpreter: it is put off while the node spins, and ends the process otherwise.
"""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

# Seconds without a turn of the executor; a slow network may take some for one picture.
PATIENCE = 30
# Seconds between signs of life.
_PERIOD = 1.0


@contextmanager
def watched(node: Node, patience: int = PATIENCE) -> Iterator[None]:
    """End the process by SIGALRM when a node stands still; what it did goes to standard error.

    Args:
        node: that is spun meanwhile.
        patience: seconds.
    """
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    timer = node.create_timer(_PERIOD, lambda: signal.alarm(patience),
                              clock=Clock(clock_type=ClockType.STEADY_TIME))
    signal.alarm(patience)
    try:
        yield
    finally:
        signal.alarm(0)
        node.destroy_timer(timer)
