# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""sensor_msgs/Image and CompressedImage to arrays of pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError


class Encoding(NamedTuple):
    """How pixels lie in memory, and the OpenCV conversion that gives RGB (None: as it is)."""

    type: str
    channels: int
    to_rgb: int | None


ENCODINGS = {
    'rgb8': Encoding('u1', 3, None),
    'bgr8': Encoding('u1', 3, cv2.COLOR_BGR2RGB),
    'rgba8': Encoding('u1', 4, cv2.COLOR_RGBA2RGB),
    'bgra8': Encoding('u1', 4, cv2.COLOR_BGRA2RGB),
    'rgb16': Encoding('u2', 3, None),
    'bgr16': Encoding('u2', 3, cv2.COLOR_BGR2RGB),
    'rgba16': Encoding('u2', 4, cv2.COLOR_RGBA2RGB),
    'bgra16': Encoding('u2', 4, cv2.COLOR_BGRA2RGB),
    'mono8': Encoding('u1', 1, None),
    'mono16': Encoding('u2', 1, None),
    '8UC1': Encoding('u1', 1, None),
    '16UC1': Encoding('u2', 1, None),
    # OpenCV's own names do not state the colour order; its users mean BGR.
    '8UC3': Encoding('u1', 3, cv2.COLOR_BGR2RGB),
    '8UC4': Encoding('u1', 4, cv2.COLOR_BGRA2RGB),
}

# First and last bytes of the compressed formats; a file without its end is cut off.
FORMATS = {
    'jpeg': (b'\xff\xd8\xff', b'\xff\xd9'),
    'png': (b'\x89PNG\r\n\x1a\n', b'IEND\xaeB`\x82'),
}


# Pixels of a compressed image, which may have a thousand times the size of its bytes: 8192 x 8192.
MOST_PIXELS = 2**26
# Kinds of JPEG segments that name the size of the image, and those without a length.
_JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = {0x01, *range(0xD0, 0xD9)}


def image_array(message: Any) -> NDArray[Any]:
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
    rows = pixel_rows(message, encoding)
    pixels = rows
    if encoding.type == 'u2':
        byte_order = '>' if message.is_bigendian else '<'
        pixels = np.ascontiguousarray(rows).view(byte_order + 'u2').astype(np.uint16, copy=False)
    if encoding.channels > 1:
        pixels = pixels.reshape(message.height, message.width, encoding.channels)
    return pixels if encoding.to_rgb is None else cv2.cvtColor(pixels, encoding.to_rgb)


def pixel_rows(message: Any, encoding: Encoding) -> NDArray[np.uint8]:
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
    """Return the pixels of a sensor_msgs/CompressedImage (jpeg or png), like image_array.

    Raises:
        BadSensorDataError: unknown_format, truncated_image or undecodable_image.

    """
    data = bytes(message.data)
    known = next((ends for ends in FORMATS.values() if data.startswith(ends[0])), None)
    if known is None:
        raise BadSensorDataError(
            'unknown_format', f'compressed image of format {message.format!r} and '
            f'{len(data)} bytes is neither jpeg nor png')
    # Decoders paint the missing rows of a cut file grey; some cameras pad with zeros.
    if not data.rstrip(b'\x00').endswith(known[1]):
        raise BadSensorDataError(
            'truncated_image', f'the compressed image ({message.format!r}) has {len(data)} bytes '
            'and lacks its end')
    if known is FORMATS['png']:
        check_png_chunks(data)
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
    width, height = (png_size(data) if data.startswith(FORMATS['png'][0])
                     else jpeg_size(data) if data.startswith(FORMATS['jpeg'][0]) else (0, 0))
    if width * height > MOST_PIXELS:
        raise BadSensorDataError(
            'undecodable_image', f'the compressed image has {width} x {height} pixels, more than '
            f'{MOST_PIXELS} in all')


def png_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, by its first chunk."""
    return int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')


def jpeg_size(data: bytes) -> tuple[int, int]:
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


def check_png_chunks(data: bytes) -> None:
    """Check the lengths of the chunks of a PNG: decoders allocate what a chunk claims, unseen.

    Raises:
        BadSensorDataError: undecodable_image.

    """
    position = len(FORMATS['png'][0])
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
    return np.lib.stride_tricks.as_strided(
        stored, (rows, row_bytes), (step, 1), writeable=False)
