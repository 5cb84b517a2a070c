# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Packed triangles are those of LAPACK, so that model files of earlier versions still load."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import lapack

from proemlc_ros.core.storage.triangles import pack_triangle, unpack_triangle


@pytest.mark.parametrize('size', [1, 2, 7])
@pytest.mark.parametrize(('kind', 'prefix'), [('float64', 'd'), ('float32', 's')])
def test_packed_as_lapack_does(size, kind, prefix):
    matrix = np.asfortranarray(np.random.default_rng(size).normal(size=(size, size)), dtype=kind)
    packed = pack_triangle(matrix)
    expected, _ = getattr(lapack, f'{prefix}trttp')(matrix, uplo='L')
    np.testing.assert_array_equal(packed, expected)
    again = np.zeros((size, size), dtype=kind, order='F')
    unpack_triangle(packed, again)
    np.testing.assert_array_equal(again, np.tril(matrix))
