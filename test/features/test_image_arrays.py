# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Images of every encoding, step and byte order, and what is wrong with bad ones."""

import struct
import zlib

import cv2
import numpy as np
import pytest
import sensor_messages as messages
from hypothesis import given, settings
from hypothesis import strategies as st

from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.image_arrays import ENCODINGS, compressed_image_array, image_array

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
    found = image_array(messages.image(
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
        image_array(messages.image(bytes(240), **{**usual, **fields}))
    assert caught.value.cause == cause


@pytest.mark.parametrize('cut', [1, 29, 30, 239, 240])
def test_truncated_data_is_rejected_by_a_single_byte(cut):
    with pytest.raises(BadSensorDataError) as caught:
        image_array(messages.image(bytes(240 - cut), 'rgb8', 10, 8, 30))
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
