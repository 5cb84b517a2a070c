# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Cloud histograms against NumPy's, and any cloud gives a finite vector."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proemlc_ros.errors import BadSensorDataError, ExtractorError
from proemlc_ros.features.extractors.cloud_histogram import CloudHistogram

BOX = (-5.0, 5.0, -4.0, 4.0, -1.0, 3.0)


@pytest.mark.parametrize('layers,cells', [(16, 8), (5, 3), (1, 1)])
def test_shares_equal_numpys_histograms(layers, cells):
    points = np.random.default_rng(0).normal(0, 3, (5000, 3))
    low, high = np.array(BOX[::2]), np.array(BOX[1::2])
    inside = points[np.all((points >= low) & (points < high), axis=1)]
    heights, _ = np.histogram(inside[:, 2], layers, range=(low[2], high[2]))
    ground, _, _ = np.histogram2d(
        inside[:, 0], inside[:, 1], cells, range=[(low[0], high[0]), (low[1], high[1])])
    expected = np.concatenate([
        heights / len(inside), ground.ravel() / len(inside), [len(inside) / len(points)]])
    found = CloudHistogram(layers=layers, cells=cells, box=BOX)(points)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@settings(max_examples=100, deadline=None)
@given(points=hnp.arrays(
    st.sampled_from([np.float32, np.float64]), st.tuples(st.integers(1, 50), st.just(3)),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True)))
def test_any_cloud_with_a_point_gives_shares(points):
    extractor = CloudHistogram()
    if not np.isfinite(points).all(axis=1).any():
        with pytest.raises(BadSensorDataError):
            extractor(points)
        return
    vector = extractor(points)
    assert vector.shape == (extractor.width,) and np.isfinite(vector).all()
    inside = 1.0 if vector[-1] > 0 else 0.0
    assert vector[:16].sum() == pytest.approx(inside) == vector[16:-1].sum()


def test_missing_points_do_not_count():
    points = np.array([[0, 0, 0], [np.nan, 0, 0], [0, 0, np.inf]])
    np.testing.assert_array_equal(CloudHistogram()(points), CloudHistogram()(points[:1]))


def test_a_cloud_outside_the_box_is_all_zero():
    assert not CloudHistogram()(np.full((4, 3), 100.0)).any()


@pytest.mark.parametrize('parameters', [
    {'layers': 0}, {'cells': 101}, {'box': (0.0, 1.0)}, {'box': (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)}])
def test_unusable_parameters_are_rejected(parameters):
    with pytest.raises(ExtractorError):
        CloudHistogram(**parameters)
