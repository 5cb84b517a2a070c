# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Point clouds of any layout to points."""

import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import cloud_points
from proemlc_ros.features.sensor_arrays.clouds import FIELD_TYPES

XYZ = [('x', 0, 7, 1), ('y', 4, 7, 1), ('z', 8, 7, 1)]


@st.composite
def layouts(draw):
    """Draw types, order and gaps of the fields of a point."""
    order = draw(st.permutations(['x', 'y', 'z', 'rgb', 'intensity']))
    fields, offset = [], draw(st.integers(0, 3))
    for name in order:
        datatype = draw(st.integers(1, 8))
        fields.append((name, offset, datatype, draw(st.integers(0, 1))))
        offset += np.dtype(FIELD_TYPES[datatype]).itemsize + draw(st.integers(0, 5))
    return fields, offset + draw(st.integers(0, 9))


@settings(max_examples=150, deadline=None)
@given(layout=layouts(), height=st.integers(1, 4), width=st.integers(1, 6),
       padding=st.integers(0, 5), bigendian=st.booleans(), seed=st.integers(0, 1000))
def test_points_are_read_by_the_clouds_own_layout(
        layout, height, width, padding, bigendian, seed):
    fields, point_step = layout
    rng = np.random.default_rng(seed)
    row_step = width * point_step + padding
    raw = bytearray(rng.integers(0, 256, height * row_step, dtype=np.uint8).tobytes())
    wanted = np.empty((height, width, 3))
    for row in range(height):
        for column in range(width):
            for name, offset, datatype, _ in fields:
                kind = np.dtype(('>' if bigendian else '<') + FIELD_TYPES[datatype])
                value = np.array(rng.integers(0, 100), kind)
                place = row * row_step + column * point_step + offset
                raw[place:place + kind.itemsize] = value.tobytes()
                if name in 'xyz':
                    wanted[row, column, 'xyz'.index(name)] = value
    cloud = messages.cloud(raw, fields, width, point_step, height, row_step, bigendian)
    np.testing.assert_array_equal(cloud_points(cloud), wanted.reshape(-1, 3))


def test_missing_points_of_an_organised_cloud_stay_nan():
    points = np.array([[1, 2, 3], [np.nan] * 3, [4, 5, 6], [7, 8, 9]], '<f4')
    found = cloud_points(messages.cloud(points.tobytes(), XYZ, 2, 12, height=2))
    np.testing.assert_array_equal(found, points)


@pytest.mark.parametrize('cause,changes', [
    ('empty_cloud', {'width': 0}),
    ('empty_cloud', {'height': 0}),
    ('truncated_cloud', {'width': 3}),
    ('truncated_cloud', {'height': 2**32 - 1}),
    ('bad_cloud_layout', {'height': 2, 'row_step': 3}),
    ('bad_cloud_layout', {'point_step': 11}),
    ('bad_cloud_layout', {'point_step': 0}),
    ('bad_cloud_layout', {'fields': [*XYZ[:2], ('z', 8, 9, 1)]}),
    ('bad_cloud_layout', {'fields': [*XYZ[:2], ('z', 8, 7, 3)]}),
    ('bad_cloud_layout', {'fields': [*XYZ[:2], ('z', 2**32 - 1, 7, 1)]}),
    ('missing_fields', {'fields': XYZ[:2]}),
    ('missing_fields', {'fields': []}),
])
def test_bad_clouds_say_what_is_wrong(cause, changes):
    usual = {'data': bytes(24), 'fields': XYZ, 'width': 2, 'point_step': 12}
    with pytest.raises(BadSensorDataError) as caught:
        cloud_points(messages.cloud(**{**usual, **changes}))
    assert caught.value.cause == cause
