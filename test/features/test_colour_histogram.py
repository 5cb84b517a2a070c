# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The colour histogram against NumPy's histogram of colours by their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference_colours import cie_luv

from proemlc_ros.errors import ExtractorError
from proemlc_ros.features.colour_histogram import BOUNDS, ColourHistogram


@pytest.mark.parametrize('light_bins,colour_bins', [(4, 8), (3, 5), (1, 1)])
def test_shares_equal_numpys_histogram(camera_image, light_bins, colour_bins):
    luv = cie_luv(camera_image).reshape(-1, 3)
    wanted, _ = np.histogramdd(
        luv, (light_bins, colour_bins, colour_bins),
        range=[BOUNDS[0:2], BOUNDS[2:4], BOUNDS[4:6]])
    found = ColourHistogram(light_bins=light_bins, colour_bins=colour_bins)(camera_image)
    # Colours within 0.01 of a border may fall to either side: at most one pixel in a thousand.
    assert np.abs(found.astype(float)**2 - wanted.ravel() / len(luv)).sum() < 1e-3


@settings(max_examples=60, deadline=None)
@given(image=hnp.arrays(
    st.sampled_from([np.uint8, np.uint16]),
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12).flatmap(
        lambda shape: st.sampled_from([shape, (*shape, 3)]))))
def test_every_pixel_of_every_image_is_counted(image):
    vector = ColourHistogram()(image)
    assert vector.shape == (256,) and vector.dtype == np.float32
    assert np.sum(vector.astype(float)**2) == pytest.approx(1, abs=1e-5)


def test_all_extreme_colours_lie_within_the_bounds():
    corners = np.array(np.meshgrid(*[[0, 255]] * 3), np.uint8).reshape(3, 1, -1).transpose(1, 2, 0)
    assert np.sum(ColourHistogram()(np.ascontiguousarray(corners))**2) == pytest.approx(1)


def test_places_do_not_matter(camera_image):
    np.testing.assert_array_equal(
        ColourHistogram()(camera_image),
        ColourHistogram()(np.ascontiguousarray(camera_image[::-1, ::-1])))


@pytest.mark.parametrize('parameters', [
    {'light_bins': 0}, {'colour_bins': 65}, {'region': (0.0, 0.0, 2.0, 1.0)}])
def test_unusable_parameters_are_refused(parameters):
    with pytest.raises(ExtractorError):
        ColourHistogram(**parameters)
