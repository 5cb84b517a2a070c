# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sensor messages to arrays, the one place that reads sensor_msgs; pictures as small JPEGs.

Only attributes are read, so messages of rclpy and of the rosbags library both work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.extractors.motion import JOINT_FIELDS, MotionSample
from proemlc_ros.features.extractors.ranges import LaserBeams
from proemlc_ros.stamps import stamp_of

# sensor_msgs/PointField: INT8 = 1 ... FLOAT64 = 8.
FIELD_TYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


class _Encoding(NamedTuple):
    """How pixels lie in memory, and the OpenCV conversion that gives RGB (None: as it is)."""

    type: str
    channels: int
    to_rgb: int | None


ENCODINGS = {
    'rgb8': _Encoding('u1', 3, None),
    'bgr8': _Encoding('u1', 3, cv2.COLOR_BGR2RGB),
    'rgba8': _Encoding('u1', 4, cv2.COLOR_RGBA2RGB),
    'bgra8': _Encoding('u1', 4, cv2.COLOR_BGRA2RGB),
    'rgb16': _Encoding('u2', 3, None),
    'bgr16': _Encoding('u2', 3, cv2.COLOR_BGR2RGB),
    'rgba16': _Encoding('u2', 4, cv2.COLOR_RGBA2RGB),
    'bgra16': _Encoding('u2', 4, cv2.COLOR_BGRA2RGB),
    'mono8': _Encoding('u1', 1, None),
    'mono16': _Encoding('u2', 1, None),
    '8UC1': _Encoding('u1', 1, None),
    '16UC1': _Encoding('u2', 1, None),
    # OpenCV's own names do not state the colour order; its users mean BGR.
    '8UC3': _Encoding('u1', 3, cv2.COLOR_BGR2RGB),
    '8UC4': _Encoding('u1', 4, cv2.COLOR_BGRA2RGB),
}

# First and last bytes of the compressed formats; a file without its end is cut off.
_FORMATS = {
    'jpeg': (b'\xff\xd8\xff', b'\xff\xd9'),
    'png': (b'\x89PNG\r\n\x1a\n', b'IEND\xaeB`\x82'),
}


# Pixels of a compressed image, which may have a thousand times the size of its bytes: 8192 x 8192.
_MOST_PIXELS = 2**26
# Kinds of JPEG segments that name the size of the image, and those without a length.
_JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = {0x01, *range(0xD0, 0xD9)}


def _image_array(message: Any) -> NDArray[Any]:
    """Return the pixels of a sensor_msgs/Image, as (rows, columns) or RGB (rows, columns, 3).

    Eight bits stay uint8, sixteen uint16 in the machine's byte order; alpha is dropped. The
    array may share memory with the message.

    Raises:
        BadSensorDataError: empty_image, unknown_encoding, bad_step or truncated_image.
    """
    encoding = ENCODINGS.get(message.encoding)
    if encoding is None:
        raise BadSensorDataError(
            'unknown_encoding',
            f'image encoding {message.encoding!r} is not known, only {", ".join(ENCODINGS)}; '
            'convert it to rgb8 first (image_proc does so for Bayer images)')
    rows = _pixel_rows(message, encoding)
    pixels = rows
    if encoding.type == 'u2':
        byte_order = '>' if message.is_bigendian else '<'
        pixels = np.ascontiguousarray(rows).view(byte_order + 'u2').astype(np.uint16, copy=False)
    if encoding.channels > 1:
        pixels = pixels.reshape(message.height, message.width, encoding.channels)
    return pixels if encoding.to_rgb is None else cv2.cvtColor(pixels, encoding.to_rgb)


def _pixel_rows(message: Any, encoding: _Encoding) -> NDArray[np.uint8]:
    """Return the bytes of the pixels, one row per row of the image, without padding."""
    height, width, step = message.height, message.width, message.step
    if height < 1 or width < 1:
        raise BadSensorDataError(
            'empty_image', f'the image has {width} x {height} pixels (width x height)')
    row_bytes = width * encoding.channels * np.dtype(encoding.type).itemsize
    if step < row_bytes:
        raise BadSensorDataError(
            'bad_step', f'step is {step} bytes, but a row of {width} pixels in '
            f'{message.encoding} has {row_bytes}')
    return byte_rows(message.data, height, row_bytes, step, 'image')


def compressed_image_array(message: Any) -> NDArray[Any]:
    """Return the pixels of a sensor_msgs/CompressedImage (jpeg or png), like _image_array.

    Raises:
        BadSensorDataError: unknown_format, truncated_image or undecodable_image.
    """
    data = bytes(message.data)
    known = next((ends for ends in _FORMATS.values() if data.startswith(ends[0])), None)
    if known is None:
        raise BadSensorDataError(
            'unknown_format', f'compressed image of format {message.format!r} and '
            f'{len(data)} bytes is neither jpeg nor png')
    # Decoders paint the missing rows of a cut file grey; some cameras pad with zeros.
    if not data.rstrip(b'\x00').endswith(known[1]):
        raise BadSensorDataError(
            'truncated_image', f'the compressed image ({message.format!r}) has {len(data)} bytes '
            'and lacks its end')
    if known is _FORMATS['png']:
        _check_png_chunks(data)
    check_pixel_count(data)
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise BadSensorDataError('undecodable_image', f'compressed image: {error}') from error
    if pixels is None:
        raise BadSensorDataError(
            'undecodable_image', f'the compressed image ({message.format!r}) cannot be decoded')
    if pixels.ndim == 2:
        return pixels
    swap = cv2.COLOR_BGR2RGB if pixels.shape[2] == 3 else cv2.COLOR_BGRA2RGB
    return cv2.cvtColor(pixels, swap)


def check_pixel_count(data: bytes) -> None:
    """Check by its header that a PNG or JPEG has no more pixels than it may.

    Raises:
        BadSensorDataError: undecodable_image.
    """
    width, height = (_png_size(data) if data.startswith(_FORMATS['png'][0])
                     else _jpeg_size(data) if data.startswith(_FORMATS['jpeg'][0]) else (0, 0))
    if width * height > _MOST_PIXELS:
        raise BadSensorDataError(
            'undecodable_image', f'the compressed image has {width} x {height} pixels, more than '
            f'{_MOST_PIXELS} in all')


def _png_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, by its first chunk."""
    return int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Return the largest width and height that a segment of a JPEG names; 0, 0: none does."""
    found, position = (0, 0), 2
    while position + 9 <= len(data):
        kind = data[position + 1]
        if data[position] != 0xFF or kind == 0xDA:
            break  # No segment, or the pixels begin.
        if kind == 0xFF or kind in _JPEG_BARE:
            position += 1 if kind == 0xFF else 2
            continue
        if kind in _JPEG_FRAMES:
            height, width = (int.from_bytes(data[position + at:position + at + 2], 'big')
                             for at in (5, 7))
            found = max(found, (width, height), key=lambda size: size[0] * size[1])
        position += 2 + int.from_bytes(data[position + 2:position + 4], 'big')
    return found


def _check_png_chunks(data: bytes) -> None:
    """Check the lengths of the chunks of a PNG: decoders allocate what a chunk claims, unseen.

    Raises:
        BadSensorDataError: undecodable_image.
    """
    position = len(_FORMATS['png'][0])
    kind = b''
    while kind != b'IEND':
        length = int.from_bytes(data[position:position + 4], 'big')
        kind = data[position + 4:position + 8]
        position += 12 + length  # with its length, kind and checksum
        if position > len(data):
            raise BadSensorDataError(
                'undecodable_image', f'a chunk of the png image claims {length} bytes, more than '
                f'the {len(data)} bytes of the message')


def byte_rows(
    data: Any, rows: int, row_bytes: int, step: int, sensor: str,
) -> NDArray[np.uint8]:
    """Return the bytes of each row without padding, as a view that cannot be written to.

    Args:
        data: the message's data.
        rows: number of rows.
        row_bytes: bytes of a row without padding.
        step: bytes from one row to the next, at least row_bytes.
        sensor: image or cloud, for the error.

    Raises:
        BadSensorDataError: truncated_image or truncated_cloud.
    """
    stored = np.frombuffer(data, np.uint8)
    needed = step * (rows - 1) + row_bytes
    if len(stored) < needed:
        raise BadSensorDataError(
            f'truncated_{sensor}', f'the {sensor} has {len(stored)} bytes of data; {rows} rows of '
            f'{row_bytes} bytes, {step} apart, need {needed}')
    # Reshaping would need the padding of the last row, which may be missing.
    return np.lib.stride_tricks.as_strided(stored, (rows, row_bytes), (step, 1), writeable=False)


def _laser_beams(message: Any) -> LaserBeams:
    """Return the beams of a sensor_msgs/LaserScan.

    Raises:
        BadSensorDataError: empty_scan or bad_angles.
    """
    ranges = np.asarray(message.ranges, np.float64)
    if len(ranges) == 0:
        raise BadSensorDataError('empty_scan', 'the scan has no beams')
    start, step = float(message.angle_min), float(message.angle_increment)
    turns = abs(step) * (len(ranges) - 1)
    if not (math.isfinite(start) and math.isfinite(step)) or (len(ranges) > 1 and step == 0):
        raise BadSensorDataError(
            'bad_angles', f'angle_min is {start} and angle_increment {step} with '
            f'{len(ranges)} beams')
    if turns > 4 * math.pi:
        raise BadSensorDataError(
            'bad_angles', f'{len(ranges)} beams with angle_increment {step} are '
            f'{turns / (2 * math.pi):.1f} turns; angles are in radians')
    # range_min below zero or NaN limits nothing.
    range_min = max(0.0, float(message.range_min)) if message.range_min >= 0 else 0.0
    return LaserBeams(
        angles=start + step * np.arange(len(ranges), dtype=np.float64), ranges=ranges,
        range_min=range_min, range_max=float(message.range_max))


def _imu_sample(message: Any) -> MotionSample:
    """Return turn rates and accelerations of a sensor_msgs/Imu.

    By the message's convention a covariance that starts with -1 means "not measured".

    Raises:
        BadSensorDataError: empty_imu: nothing was measured.
    """
    values = {}
    for name in ('angular_velocity', 'linear_acceleration'):
        vector = getattr(message, name)
        axes = (float(vector.x), float(vector.y), float(vector.z))
        if getattr(message, f'{name}_covariance')[0] == -1 or not all(map(math.isfinite, axes)):
            continue
        for axis, value in zip('xyz', axes):
            values[f'{name}.{axis}'] = value
        values[f'{name}.norm'] = math.hypot(*axes)
    if not values:
        raise BadSensorDataError(
            'empty_imu', 'the IMU message has neither a finite turn rate nor acceleration')
    return MotionSample(stamp_of(message.header), values)


def _joint_sample(message: Any) -> MotionSample:
    """Return positions, velocities and efforts of a sensor_msgs/JointState by joint and field.

    Raises:
        BadSensorDataError: empty_joints, or bad_joints: names and values differ in number.
    """
    names = list(message.name)
    if not names:
        raise BadSensorDataError('empty_joints', 'the joint state names no joint')
    values = {}
    for entry in JOINT_FIELDS:
        measured = getattr(message, entry)
        # Every field may be left empty as a whole.
        if len(measured) not in (0, len(names)):
            raise BadSensorDataError(
                'bad_joints', f'the joint state has {len(names)} names and {len(measured)} '
                f'values of {entry}')
        for name, value in zip(names, measured):
            values[f'{name}/{entry}'] = float(value)
    if not values:
        raise BadSensorDataError('empty_joints', 'the joint state has names and no values')
    return MotionSample(stamp_of(message.header), values)


def _cloud_points(message: Any) -> NDArray[np.float64]:
    """Return x, y, z of every point, (n, 3), for any fields, padding and byte order.

    An organised cloud is flattened; its missing points stay as NaN rows.

    Raises:
        BadSensorDataError: empty_cloud, bad_cloud_layout, missing_fields or truncated_cloud.
    """
    layout = _xyz_layout(message)
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


def _xyz_layout(message: Any) -> np.dtype[Any]:
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


# For each kind of sensor, its message types (the default one first) and their readers.
MESSAGE_TYPES: dict[str, dict[str, Callable[[Any], Any]]] = {
    'image': {
        'sensor_msgs/msg/Image': _image_array,
        'sensor_msgs/msg/CompressedImage': compressed_image_array,
    },
    'scan': {'sensor_msgs/msg/LaserScan': _laser_beams},
    'imu': {'sensor_msgs/msg/Imu': _imu_sample},
    'joints': {'sensor_msgs/msg/JointState': _joint_sample},
    'cloud': {'sensor_msgs/msg/PointCloud2': _cloud_points},
}


def sample_of(message: Any, message_type: str) -> Any:
    """Return the data of a message, as the extractors of its sensor take it.

    Args:
        message: of rclpy, or deserialised by rosbags.
        message_type: such as 'sensor_msgs/msg/Image'.

    Raises:
        BadSensorDataError: the message cannot be used; its cause is the reason.
    """
    for readers in MESSAGE_TYPES.values():
        if message_type in readers:
            return readers[message_type](message)
    raise KeyError(f'no reader for {message_type}')


def scaled_down(pixels: NDArray[Any], longest: int) -> NDArray[Any]:
    """Return pixels whose longest side is at most `longest`."""
    scale = longest / max(pixels.shape[:2])
    if scale >= 1:
        return pixels
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))


def jpeg_of(pixels: NDArray[Any], longest: int = 640, quality: int = 80) -> bytes:
    """Return pixels as a JPEG that is small enough to keep or to send often.

    Args:
        pixels: (rows, columns) or RGB (rows, columns, 3), of 8 or 16 bits.
        longest: side of the result in pixels, at most; larger pictures are scaled down.
        quality: of the JPEG, 1 to 100.
    """
    if pixels.dtype != np.uint8:
        # Depth and thermal cameras use a small part of their 16 bits; show that part.
        pixels = cv2.normalize(pixels, np.empty_like(pixels), 0, 255, cv2.NORM_MINMAX).astype(
            np.uint8)
    small = scaled_down(pixels, longest)
    if small.ndim == 3:
        small = cv2.cvtColor(small, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode('.jpg', small, (cv2.IMWRITE_JPEG_QUALITY, quality))
    return data.tobytes()
