# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Colours from their definition, in double precision: slow, and by another route."""

import numpy as np


def cie_luv(rgb):
    """CIE 1976 L*u*v* of 8- or 16-bit sRGB under D65, from the definition, in double precision."""
    value = rgb.astype(float) / np.iinfo(rgb.dtype).max
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([
        [0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169],
        [0.019334, 0.119193, 0.950227]])
    x, y, z = np.moveaxis(linear @ to_xyz.T, -1, 0)
    white = to_xyz.sum(axis=1)

    def chromaticity(x, y, z):
        total = np.maximum(x + 15 * y + 3 * z, 1e-12)
        return 4 * x / total, 9 * y / total

    lightness = np.where(y > (6 / 29) ** 3, 116 * np.cbrt(y) - 16, (29 / 3) ** 3 * y)
    (u, v), (white_u, white_v) = chromaticity(x, y, z), chromaticity(*white)
    return np.stack(
        [lightness, 13 * lightness * (u - white_u), 13 * lightness * (v - white_v)], axis=-1)
