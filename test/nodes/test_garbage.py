# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Garbage is collected rarely, and not never."""

import gc

from proemlc_ros.nodes.garbage import (
    BEFORE,
    NEW_OBJECTS,
    collect_rarely,
    start_without_collection,
)


def test_garbage_is_collected_rarely_and_not_never():
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        start_without_collection()
        assert gc.get_threshold()[0] == BEFORE
        collect_rarely()
        assert gc.get_threshold()[0] == NEW_OBJECTS and gc.get_freeze_count() > frozen
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()
