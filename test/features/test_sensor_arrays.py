# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Sensor messages to arrays, good and bad ones; pictures to JPEGs."""

import math
import struct
import zlib

import cv2
import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.sensor_arrays import (
    ENCODINGS,
    FIELD_TYPES,
    _cloud_points,
    _image_array,
    _imu_sample,
    _joint_sample,
    _laser_beams,
    compressed_image_array,
    jpeg_of,
)

# For each encoding, which of the message's channels are red, green, blue (or grey).
CHANNELS = {
    'rgb8': [0, 1, 2], 'bgr8': [2, 1, 0], 'rgba8': [0, 1, 2], 'bgra8': [2, 1, 0],
    'rgb16': [0, 1, 2], 'bgr16': [2, 1, 0], 'rgba16': [0, 1, 2], 'bgra16': [2, 1, 0],
    'mono8': [0], 'mono16': [0], '8UC1': [0], '16UC1': [0], '8UC3': [2, 1, 0], '8UC4': [2, 1, 0],
}


def test_every_encoding_is_tested():
    assert set(CHANNELS) == set(ENCODINGS)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), encoding=st.sampled_from(sorted(CHANNELS)), bigendian=st.booleans(),
       height=st.integers(1, 9), width=st.integers(1, 9), padding=st.integers(0, 7),
       last_padding=st.booleans())
def test_pixels_are_read_by_the_messages_own_fields(
        data, encoding, bigendian, height, width, padding, last_padding):
    count = {1: 1, 3: 3}[len(CHANNELS[encoding])] + ('a' in encoding or encoding == '8UC4')
    bits = np.uint16 if '16' in encoding else np.uint8
    seed = data.draw(st.integers(0, 1000))
    pixels = np.random.default_rng(seed).integers(
        0, np.iinfo(bits).max, (height, width, count), dtype=bits, endpoint=True)
    stored = pixels.astype(pixels.dtype.newbyteorder('>' if bigendian else '<'))
    # Written row by row in plain Python, with padding that must never be read.
    rows = [row.tobytes() + b'\xab' * padding for row in stored]
    raw = b''.join(rows) if last_padding else b''.join(rows)[:len(b''.join(rows)) - padding]
    step = len(stored[0].tobytes()) + padding
    found = _image_array(messages.image(
        raw, encoding, width, height, step, bigendian=int(bigendian)))
    expected = pixels[..., CHANNELS[encoding]]
    assert found.dtype == bits
    np.testing.assert_array_equal(found, expected if expected.shape[2] == 3 else expected[..., 0])


@pytest.mark.parametrize('cause,fields', [
    ('unknown_encoding', {'encoding': 'bayer_rggb8'}),
    ('unknown_encoding', {'encoding': ''}),
    ('empty_image', {'width': 0}),
    ('empty_image', {'height': 0}),
    ('bad_step', {'step': 29}),
    ('bad_step', {'step': 0}),
    ('truncated_image', {'height': 9}),
    ('truncated_image', {'step': 1000}),
    ('truncated_image', {'height': 2**32 - 1, 'width': 2**32 - 1, 'step': 2**34}),
])
def test_bad_images_say_what_is_wrong(cause, fields):
    usual = {'encoding': 'rgb8', 'width': 10, 'height': 8, 'step': 30}
    with pytest.raises(BadSensorDataError) as caught:
        _image_array(messages.image(bytes(240), **{**usual, **fields}))
    assert caught.value.cause == cause


@pytest.mark.parametrize('cut', [1, 29, 30, 239, 240])
def test_truncated_data_is_rejected_by_a_single_byte(cut):
    with pytest.raises(BadSensorDataError) as caught:
        _image_array(messages.image(bytes(240 - cut), 'rgb8', 10, 8, 30))
    assert caught.value.cause == 'truncated_image'


def test_png_is_exact_in_eight_and_sixteen_bits_and_with_alpha(camera_image):
    small = camera_image[::8, ::8]
    for pixels, bgr in [
        (small, small[..., ::-1]),
        (small.astype(np.uint16) * 257, small[..., ::-1].astype(np.uint16) * 257),
        (small[..., 0], small[..., 0]),
        (small, np.dstack([small[..., ::-1], np.full(small.shape[:2], 9, np.uint8)])),
    ]:
        _, data = cv2.imencode('.png', np.ascontiguousarray(bgr))
        found = compressed_image_array(messages.compressed(data.tobytes(), 'png'))
        np.testing.assert_array_equal(found, pixels)


def test_jpeg_has_the_right_colours(camera_image):
    _, data = cv2.imencode('.jpg', camera_image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])
    found = compressed_image_array(
        messages.compressed(data.tobytes() + bytes(5), 'bgr8; jpeg compressed bgr8'))
    assert found.shape == camera_image.shape
    assert np.abs(found.astype(int) - camera_image).mean() < 6


@pytest.mark.parametrize('extension', ['.jpg', '.png'])
@pytest.mark.parametrize('share', [0.02, 0.5, 0.99])
def test_cut_compressed_images_are_rejected(camera_image, extension, share):
    _, data = cv2.imencode(extension, camera_image)
    raw = data.tobytes()
    with pytest.raises(BadSensorDataError) as caught:
        compressed_image_array(messages.compressed(raw[:int(len(raw) * share)]))
    assert caught.value.cause == 'truncated_image'


@pytest.mark.parametrize('data', [b'', b'\x00' * 100, b'GIF89a' + bytes(50)])
def test_other_formats_are_rejected(data):
    with pytest.raises(BadSensorDataError) as caught:
        compressed_image_array(messages.compressed(data, 'gif'))
    assert caught.value.cause == 'unknown_format'


def test_a_png_chunk_cannot_claim_more_than_the_message_has():
    """OpenCV would allocate and clear the two gigabytes first, for seconds."""
    data = b'\x89PNG\r\n\x1a\n' + b'\x7f\xff\xff\xff' + b'IEND\xaeB`\x82'
    with pytest.raises(BadSensorDataError, match='claims 2147483647 bytes') as caught:
        compressed_image_array(messages.compressed(data, 'png'))
    assert caught.value.cause == 'undecodable_image'


def png_of_zeros(side: int) -> bytes:
    """Return a PNG of black pixels, written row by row; a thousandth of the size of its pixels."""
    def chunk(kind: bytes, content: bytes) -> bytes:
        return (struct.pack('>I', len(content)) + kind + content
                + struct.pack('>I', zlib.crc32(kind + content)))
    packer = zlib.compressobj(9)
    rows = b''.join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    about = chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 0, 0, 0, 0))
    return b'\x89PNG\r\n\x1a\n' + about + chunk(b'IDAT', rows) + chunk(b'IEND', b'')


def jpeg_that_claims(side: int) -> bytes:
    """Return a small JPEG whose header names other sides."""
    _, data = cv2.imencode('.jpg', np.zeros((16, 16, 3), np.uint8))
    raw = bytearray(data.tobytes())
    place = raw.index(b'\xff\xc0')
    raw[place + 5:place + 9] = struct.pack('>HH', side, side)
    return bytes(raw)


@pytest.mark.parametrize('make', [png_of_zeros, jpeg_that_claims])
def test_a_small_message_cannot_become_gigabytes_of_pixels(make):
    """A broken or hostile camera would end every node that looks at its pictures."""
    with pytest.raises(BadSensorDataError, match='12000 x 12000') as caught:
        compressed_image_array(messages.compressed(make(12_000), 'png'))
    assert caught.value.cause == 'undecodable_image'


@settings(max_examples=100, deadline=None)
@given(noise=st.binary(max_size=200), kind=st.sampled_from(['jpeg', 'png']))
def test_noise_between_the_right_ends_never_raises_anything_else(noise, kind):
    ends = {'jpeg': (b'\xff\xd8\xff', b'\xff\xd9'), 'png': (
        b'\x89PNG\r\n\x1a\n', b'IEND\xaeB`\x82')}[kind]
    try:
        pixels = compressed_image_array(messages.compressed(ends[0] + noise + ends[1], kind))
    except BadSensorDataError as error:
        assert error.cause == 'undecodable_image'
    else:
        assert pixels.size


NAN = math.nan
XYZ = [('x', 0, 7, 1), ('y', 4, 7, 1), ('z', 8, 7, 1)]


@given(count=st.integers(1, 500))
def test_beams_have_the_angles_of_the_message(count):
    beams = _laser_beams(messages.scan(np.arange(count), angle_min=-1.0, increment=0.01))
    np.testing.assert_allclose(beams.angles, [-1.0 + 0.01 * k for k in range(count)], atol=1e-9)
    np.testing.assert_array_equal(beams.ranges, np.arange(count))


@pytest.mark.parametrize('cause,fields', [
    ('empty_scan', {'ranges': []}),
    ('bad_angles', {'increment': 0.0}),
    ('bad_angles', {'increment': NAN}),
    ('bad_angles', {'angle_min': math.inf, 'increment': 0.1}),
    ('bad_angles', {'increment': 1.0, 'ranges': [1.0] * 360}),
])
def test_bad_scans_say_what_is_wrong(cause, fields):
    with pytest.raises(BadSensorDataError) as caught:
        _laser_beams(messages.scan(**{'ranges': [1.0, 2.0], **fields}))
    assert caught.value.cause == cause


@pytest.mark.parametrize('range_min', [NAN, -1.0])
def test_a_negative_or_missing_range_min_limits_nothing(range_min):
    assert _laser_beams(messages.scan([1.0, 2.0], range_min=range_min)).range_min == 0


def test_imu_channels():
    sample = _imu_sample(messages.imu((1.0, 2.0, 2.0), (0.0, 3.0, 4.0), stamp=5))
    assert sample.stamp == 5
    assert sample.values['angular_velocity.norm'] == 3
    assert sample.values['linear_acceleration.z'] == 4
    assert sample.values['linear_acceleration.norm'] == 5


@pytest.mark.parametrize('message', [
    messages.imu(measured=(False, True)), messages.imu(turn=(NAN, 0.0, 0.0))])
def test_what_the_imu_did_not_measure_is_left_out(message):
    values = _imu_sample(message).values
    assert 'angular_velocity.x' not in values and values['linear_acceleration.z'] == 9.81


def test_an_imu_that_measured_nothing_is_rejected():
    with pytest.raises(BadSensorDataError) as caught:
        _imu_sample(messages.imu(measured=(False, False)))
    assert caught.value.cause == 'empty_imu'


def test_joints_are_named_and_empty_fields_are_allowed():
    sample = _joint_sample(messages.joints(['a/b', 'c'], position=[1, 2], effort=[3, NAN]))
    assert sample.values['a/b/position'] == 1 and sample.values['c/position'] == 2
    assert sample.values['a/b/effort'] == 3 and math.isnan(sample.values['c/effort'])
    assert 'c/velocity' not in sample.values


@pytest.mark.parametrize('cause,names,position', [
    ('empty_joints', [], []), ('empty_joints', ['a'], []), ('bad_joints', ['a'], [1, 2]),
    ('bad_joints', ['a', 'b'], [1])])
def test_bad_joint_states_say_what_is_wrong(cause, names, position):
    with pytest.raises(BadSensorDataError) as caught:
        _joint_sample(messages.joints(names, position=position))
    assert caught.value.cause == cause


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
    expected = np.empty((height, width, 3))
    for row in range(height):
        for column in range(width):
            for name, offset, datatype, _ in fields:
                kind = np.dtype(('>' if bigendian else '<') + FIELD_TYPES[datatype])
                value = np.array(rng.integers(0, 100), kind)
                place = row * row_step + column * point_step + offset
                raw[place:place + kind.itemsize] = value.tobytes()
                if name in 'xyz':
                    expected[row, column, 'xyz'.index(name)] = value
    cloud = messages.cloud(raw, fields, width, point_step, height, row_step, bigendian)
    np.testing.assert_array_equal(_cloud_points(cloud), expected.reshape(-1, 3))


def test_missing_points_of_an_organised_cloud_stay_nan():
    points = np.array([[1, 2, 3], [np.nan] * 3, [4, 5, 6], [7, 8, 9]], '<f4')
    found = _cloud_points(messages.cloud(points.tobytes(), XYZ, 2, 12, height=2))
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
        _cloud_points(messages.cloud(**{**usual, **changes}))
    assert caught.value.cause == cause


def decoded(jpeg):
    return cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]


def test_picture_is_scaled_down_and_keeps_its_colours():
    pixels = np.full((480, 1280, 3), (200, 30, 60), np.uint8)
    seen = decoded(jpeg_of(pixels, longest=320))
    assert seen.shape == (120, 320, 3)
    assert np.abs(seen.mean((0, 1)) - (200, 30, 60)).max() < 6


def test_small_picture_keeps_its_size():
    assert decoded(jpeg_of(np.zeros((3, 5), np.uint8))).shape == (3, 5, 3)


def test_sixteen_bits_are_stretched_over_what_is_used():
    depth = np.array([[1000, 1500], [1500, 2000]], np.uint16).repeat(16, 0).repeat(16, 1)
    seen = decoded(jpeg_of(depth))
    assert seen.min() < 10 and seen.max() > 245
