# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hand-made features of images: colours, gradients, and resizing as OpenCV does it."""

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference_colours import cie_luv

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractors.images import (
    HISTOGRAM_BOUNDS,
    LARGEST_VARIANCE,
    LOWEST,
    SPAN,
    ColourHistogram,
    ColourMoments,
    GradientHistogram,
    resized_by_area,
)


@pytest.mark.parametrize('size', [(480, 640), (448, 448), (225, 224), (1080, 1920), (224, 500),
                                  (100, 640), (640, 100), (20, 30), (1, 1), (257, 341)])
@pytest.mark.parametrize('channels', [(), (3,)])
def test_values_are_those_of_opencv(size, channels):
    image = np.random.default_rng(0).uniform(0, 255, (*size, *channels)).astype(np.float32)
    expected = cv2.resize(image, (224, 224), interpolation=cv2.INTER_AREA)
    found = resized_by_area(image, 224, 224)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_a_part_of_an_image_is_resized_as_well():
    image = np.random.default_rng(1).uniform(0, 255, (300, 400, 3)).astype(np.float32)
    part = image[::2, 10:300]
    np.testing.assert_allclose(
        resized_by_area(part, 60, 50),
        cv2.resize(np.ascontiguousarray(part), (50, 60), interpolation=cv2.INTER_AREA), atol=2e-4)


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
