# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that start quickly: forked from one that has loaded what they need."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import BaseContext


def fork_context(*modules: str) -> BaseContext:
    """Return how to make processes that find these modules loaded, where that can be had.

    They are forked from a server, which has no threads; here BLAS or ROS may be running some.
    """
    if 'forkserver' not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context('spawn')
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(list(modules))
    return context
