# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Colour moments and histograms against the CIE formulas, scikit-image and NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference_colours import cie_luv

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractors.colour import (
    HISTOGRAM_BOUNDS,
    LARGEST_VARIANCE,
    LOWEST,
    SPAN,
    ColourHistogram,
    ColourMoments,
)

# In units of L*, u*, v*: OpenCV's table of the cube root is off by up to 0.016 for dark colours.
MEAN_TOLERANCE = 0.02


def natural_units(vector, grid=7):
    """Undo scale and order: (moment, row, column, band)."""
    moments = vector.astype(float).reshape(3, 2, grid, grid)
    means = moments[:, 0].transpose(1, 2, 0) * SPAN + LOWEST
    variances = moments[:, 1].transpose(1, 2, 0) * LARGEST_VARIANCE
    return means, variances


def check_variances(found, expected):
    """Values off by at most t change a variance by at most 2 t times the deviation, and t^2."""
    error = np.abs(found - expected)
    assert np.all(error <= 2 * MEAN_TOLERANCE * np.sqrt(expected) + MEAN_TOLERANCE**2 + 1e-3)


def block_moments(luv, grid=7):
    """Mean and variance of each block, one block at a time."""
    means, variances = np.empty((grid, grid, 3)), np.empty((grid, grid, 3))
    height, width = luv.shape[:2]
    for row in range(grid):
        for column in range(grid):
            block = luv[row * height // grid:(row + 1) * height // grid,
                        column * width // grid:(column + 1) * width // grid].reshape(-1, 3)
            means[row, column], variances[row, column] = block.mean(axis=0), block.var(axis=0)
    return means, variances


@settings(max_examples=40, deadline=None)
@given(image=hnp.arrays(
    st.sampled_from([np.uint8, np.uint16]),
    st.tuples(st.integers(7, 40), st.integers(7, 40), st.just(3))))
def test_moments_equal_the_cie_formulas_in_double_precision(image):
    means, variances = natural_units(ColourMoments()(image))
    expected_means, expected_variances = block_moments(cie_luv(image))
    np.testing.assert_allclose(means, expected_means, atol=MEAN_TOLERANCE)
    check_variances(variances, expected_variances)


def test_moments_equal_those_of_scikit_image(camera_image):
    colour = pytest.importorskip('skimage.color')
    means, variances = natural_units(ColourMoments()(camera_image))
    expected_means, expected_variances = block_moments(colour.rgb2luv(camera_image))
    np.testing.assert_allclose(means, expected_means, atol=MEAN_TOLERANCE)
    check_variances(variances, expected_variances)


def test_order_is_that_of_the_scene_data_set():
    image = np.zeros((70, 70, 3), np.uint8)
    image[10:20, 30:40] = (255, 255, 255)  # block in row 1, column 3
    image[20:25, 0:10] = (255, 255, 255)   # half of the block in row 2, column 0
    vector = ColourMoments()(image)
    light_means, light_variances = vector[:49], vector[49:98]
    assert np.flatnonzero(light_means).tolist() == [1 * 7 + 3, 2 * 7 + 0]
    assert np.flatnonzero(light_variances).tolist() == [2 * 7 + 0]
    assert light_variances[14] == pytest.approx(1.0)  # half black, half white: the largest


def test_colours_show_in_their_bands():
    red = ColourMoments(grid=1)(np.full((9, 9, 3), (255, 0, 0), np.uint8))
    blue = ColourMoments(grid=1)(np.full((9, 9, 3), (0, 0, 255), np.uint8))
    mean_u, mean_v = 2, 4
    assert red[mean_u] > 0.8 and blue[mean_v] < 0.05


def test_grey_images_have_neither_u_nor_v():
    grey = np.arange(49, dtype=np.uint8).reshape(7, 7) * 5
    np.testing.assert_allclose(
        ColourMoments()(grey), ColourMoments()(np.repeat(grey[..., None], 3, 2)), atol=1e-6)
    means, _ = natural_units(ColourMoments()(grey))
    np.testing.assert_allclose(means[..., 1:], 0, atol=MEAN_TOLERANCE)


@pytest.mark.parametrize('white_level', [0, 4095])
def test_sixteen_bits_are_scaled_by_the_white_level(white_level):
    eight = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    sixteen = (eight.astype(float) * (white_level or 65535) / 255).round().astype(np.uint16)
    np.testing.assert_allclose(
        ColourMoments(white_level=white_level)(sixteen), ColourMoments()(eight), atol=2e-4)


@settings(max_examples=60, deadline=None)
@given(image=hnp.arrays(
    np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=20).flatmap(
        lambda shape: st.sampled_from([shape, (*shape, 3)]))))
def test_every_image_gives_294_values_between_0_and_1(image):
    vector = ColourMoments()(image)
    assert vector.shape == (294,) and vector.dtype == np.float32
    assert np.all((vector >= 0) & (vector <= 1 + 1e-6))


def test_region_is_the_cropped_image(camera_image):
    part = ColourMoments(region=(0.25, 0.5, 0.5, 0.25))(camera_image)
    height, width = camera_image.shape[:2]
    cropped = camera_image[height // 2:height * 3 // 4, width // 4:width * 3 // 4]
    np.testing.assert_array_equal(part, ColourMoments()(cropped))


@pytest.mark.parametrize('shape', [(0, 5, 3), (5, 0), (0,), (2, 2, 2, 2)])
def test_arrays_that_are_not_images_are_rejected(shape):
    with pytest.raises(BadSensorDataError) as caught:
        ColourMoments()(np.zeros(shape, np.uint8))
    assert caught.value.cause == 'empty_image'


@pytest.mark.parametrize('parameters', [
    {'grid': 0}, {'grid': 65}, {'region': (0.5, 0.5, 0.6, 0.1)}, {'region': (0.0, 0.0, 0.0, 1.0)},
    {'region': (0.0, 1.0)}, {'region': (float('nan'), 0.0, 1.0, 1.0)},
])
def test_unusable_moment_parameters_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        ColourMoments(**parameters)


@pytest.mark.parametrize('light_bins,colour_bins', [(4, 8), (3, 5), (1, 1)])
def test_histogram_shares_equal_numpys_histogram(camera_image, light_bins, colour_bins):
    luv = cie_luv(camera_image).reshape(-1, 3)
    expected, _ = np.histogramdd(
        luv, (light_bins, colour_bins, colour_bins),
        range=np.reshape(HISTOGRAM_BOUNDS, (3, 2)))
    found = ColourHistogram(light_bins=light_bins, colour_bins=colour_bins)(camera_image)
    # Colours within 0.01 of a border may fall to either side: at most one pixel in a thousand.
    assert np.abs(found.astype(float)**2 - expected.ravel() / len(luv)).sum() < 1e-3


@settings(max_examples=60, deadline=None)
@given(image=hnp.arrays(
    st.sampled_from([np.uint8, np.uint16]),
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12).flatmap(
        lambda shape: st.sampled_from([shape, (*shape, 3)]))))
def test_every_pixel_is_in_the_histogram(image):
    vector = ColourHistogram()(image)
    assert vector.shape == (256,) and vector.dtype == np.float32
    assert np.sum(vector.astype(float)**2) == pytest.approx(1, abs=1e-5)


def test_extreme_colours_are_in_the_histogram():
    corners = np.array(np.meshgrid(*[[0, 255]] * 3), np.uint8).reshape(3, 1, -1).transpose(1, 2, 0)
    assert np.sum(ColourHistogram()(np.ascontiguousarray(corners))**2) == pytest.approx(1)


def test_positions_do_not_matter_to_the_histogram(camera_image):
    np.testing.assert_array_equal(
        ColourHistogram()(camera_image),
        ColourHistogram()(np.ascontiguousarray(camera_image[::-1, ::-1])))


@pytest.mark.parametrize('parameters', [
    {'light_bins': 0}, {'colour_bins': 65}, {'region': (0.0, 0.0, 2.0, 1.0)}])
def test_unusable_histogram_parameters_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        ColourHistogram(**parameters)
