# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/PointCloud2 of any layout to points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays.byte_rows import byte_rows

# sensor_msgs/PointField: INT8 = 1 ... FLOAT64 = 8.
FIELD_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


def cloud_points(message: Any) -> NDArray[np.float64]:
    """Return x, y, z of every point, (n, 3), whatever the fields, padding and byte order.

    An organised cloud is flattened; its missing points stay as NaN rows.

    Raises:
        BadSensorDataError: empty_cloud, bad_cloud_layout, missing_fields or truncated_cloud.

    """
    layout = xyz_layout(message)
    height, width, row_step = message.height, message.width, message.row_step
    if height < 1 or width < 1:
        raise BadSensorDataError(
            'empty_cloud', f'the cloud has {width} x {height} points (width x height)')
    row_bytes = width * message.point_step
    if height > 1 and row_step < row_bytes:
        raise BadSensorDataError(
            'bad_cloud_layout', f'row_step is {row_step} bytes, but {width} points of '
            f'{message.point_step} bytes need {row_bytes}')
    rows = byte_rows(message.data, height, row_bytes, row_step, 'cloud')
    points = np.ascontiguousarray(rows).view(layout).ravel()
    return np.stack([points[axis].astype(np.float64) for axis in 'xyz'], axis=1)


def xyz_layout(message: Any) -> np.dtype[Any]:
    """Return the structured type of one point with its fields x, y and z."""
    byte_order = '>' if message.is_bigendian else '<'
    fields = {field.name: field for field in message.fields}
    missing = [axis for axis in 'xyz' if axis not in fields]
    if missing:
        raise BadSensorDataError(
            'missing_fields', f'the cloud has the fields {sorted(fields)} and lacks '
            f'{", ".join(missing)}')
    types = {}
    for axis in 'xyz':
        field = fields[axis]
        # Old drivers leave count at 0 where they mean 1.
        if field.datatype not in FIELD_TYPES or field.count > 1:
            raise BadSensorDataError(
                'bad_cloud_layout', f'field {axis} has data type {field.datatype} and count '
                f'{field.count}; known are types 1 to 8, one value each')
        types[axis] = np.dtype(byte_order + FIELD_TYPES[field.datatype])
        if field.offset + types[axis].itemsize > message.point_step:
            raise BadSensorDataError(
                'bad_cloud_layout', f'field {axis} at offset {field.offset} does not fit into '
                f'point_step {message.point_step}')
    return np.dtype({
        'names': list('xyz'), 'formats': [types[axis] for axis in 'xyz'],
        'offsets': [fields[axis].offset for axis in 'xyz'], 'itemsize': message.point_step})
