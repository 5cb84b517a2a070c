# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient histograms against their definition, scikit-image's hog, and plain facts."""

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.extractors.gradient_histogram import GradientHistogram

# A pixel whose gradient lies on the border of two bins may fall to either side in float32.
TOLERANCE = 2e-3


def by_definition(grey, grid, orientations):
    """Add up one pixel at a time, in double precision."""
    height, width = grey.shape
    histograms = np.zeros((grid, grid, orientations))
    for row in range(height):
        for column in range(width):
            down = grey[row + 1, column] - grey[row - 1, column] if 0 < row < height - 1 else 0.0
            right = (grey[row, column + 1] - grey[row, column - 1]
                     if 0 < column < width - 1 else 0.0)
            turn = math.degrees(math.atan2(down, right)) % 180
            block = (row * grid // height, column * grid // width)
            histograms[block][int(turn * orientations / 180) % orientations] += math.hypot(
                down, right)
    histograms /= (height // grid) * (width // grid)
    return histograms.ravel() / np.linalg.norm(histograms)


@pytest.mark.parametrize('grid,orientations', [(4, 9), (2, 8), (8, 12)])
def test_equals_the_definition(camera_image, grid, orientations):
    smooth = cv2.GaussianBlur(camera_image[::5, ::5, 1].astype(np.float32) * 257, (0, 0), 1.5)
    sixteen = smooth.astype(np.uint16)
    expected = by_definition(sixteen.astype(float) / 65535, grid, orientations)
    found = GradientHistogram(grid=grid, orientations=orientations)(sixteen)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize('grid,orientations', [(4, 9), (2, 8), (8, 12)])
def test_equals_hog_of_scikit_image_with_one_block(camera_image, grid, orientations):
    skimage = pytest.importorskip('skimage.feature')
    grey = cv2.cvtColor(camera_image, cv2.COLOR_RGB2GRAY)
    # Away from bin borders: differences of 8-bit values meet multiples of 22.5 degrees.
    smooth = cv2.GaussianBlur(grey.astype(np.float32) / 255, (0, 0), 2.0)
    sixteen = np.clip(smooth * 65535, 0, 65535).astype(np.uint16)
    expected = skimage.hog(
        sixteen.astype(float) / 65535, orientations=orientations,
        pixels_per_cell=(480 // grid, 640 // grid), cells_per_block=(grid, grid), block_norm='L2')
    vector = GradientHistogram(grid=grid, orientations=orientations)(sixteen)
    np.testing.assert_allclose(vector, expected, atol=TOLERANCE)


@settings(max_examples=60, deadline=None)
@given(image=hnp.arrays(
    st.sampled_from([np.uint8, np.uint16]),
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=20).flatmap(
        lambda shape: st.sampled_from([shape, (*shape, 3)]))))
def test_every_image_gives_a_finite_vector_no_longer_than_1(image):
    extractor = GradientHistogram()
    vector = extractor(image)
    assert vector.shape == (extractor.width,) and vector.dtype == np.float32
    assert np.all(vector >= 0) and np.linalg.norm(vector) <= 1 + 1e-5


def test_an_upright_edge_is_at_zero_degrees():
    image = np.zeros((40, 40), np.uint8)
    image[:, 20:] = 200
    assert GradientHistogram(grid=1, orientations=4)(image).argmax() == 0
    assert GradientHistogram(grid=1, orientations=4)(image.T.copy()).argmax() == 2


def test_contrast_cancels(camera_image):
    half = camera_image[..., 1] // 2
    np.testing.assert_allclose(
        GradientHistogram()(half), GradientHistogram()(half * 2), atol=1e-5)


@pytest.mark.parametrize('parameters', [{'grid': 0}, {'orientations': 1}, {'region': ()}])
def test_unusable_parameters_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        GradientHistogram(**parameters)
