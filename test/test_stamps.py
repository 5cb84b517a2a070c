# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps of headers in nanoseconds."""

from types import SimpleNamespace

import pytest

from proemlc_ros.stamps import stamp_of


def test_a_stamp_is_in_nanoseconds():
    header = SimpleNamespace(stamp=SimpleNamespace(sec=3, nanosec=7))
    assert stamp_of(header) == 3_000_000_007


@pytest.mark.parametrize('header', [None, SimpleNamespace()])
def test_no_stamp_is_zero(header):
    assert stamp_of(header) == 0
