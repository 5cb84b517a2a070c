# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Parses our own messages straight from their CDR bytes.

Feature vectors are read three times as fast as by general deserialization, and a whole message is
told from what a damaged file has left of one: general deserializers trust every length that they
read and may take hours over a wrong one. Only plain little-endian CDR of exactly our definitions
is parsed; everything else is left to the library.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from struct import error as struct_error

import numpy as np

from proemlc_ros.classifier.records import (
    Annotation,
    Event,
    EventKind,
    StampedVector,
    Vector,
)
from proemlc_ros.conversions import ANNOTATION_TYPE, EVENT_TYPE, FEATURES_TYPE
from proemlc_ros.stamps import NANOSECONDS

_LITTLE_ENDIAN = b'\x00\x01'
# Behind the four bytes that tell the encoding: stamp and the length of frame_id.
_HEADER = Struct('<iII')
_UINT = Struct('<I')
_FLOAT = np.dtype('<f4')
_NO_VALUES: Vector = np.empty(0, np.float32)
# Longest body of an annotation, in bytes, that is worth caching: it has no features of its own.
_SHORT = 512
_NOT_PLAIN = (struct_error, ValueError, IndexError)

# Labels, absent labels, complete, features, extractor, annotator.
_Body = tuple[tuple[str, ...], tuple[str, ...], bool, Vector | None, str, str]


def read_vector(data: bytes) -> StampedVector | None:
    """Return the vector of a serialized FeatureVector; None where it is not plainly one."""
    try:
        return _vector(data)
    except _NOT_PLAIN:
        return None


def read_annotation(data: bytes) -> Annotation | None:
    """Return the annotation of a serialized LabelAnnotation; None as above."""
    try:
        return _annotation(data)
    except _NOT_PLAIN:
        return None


def read_event(data: bytes) -> Event | None:
    """Return the event of a serialized ModelEvent; None as above, or for an unknown kind."""
    try:
        stamp, kind, label, new_label, file_name = _event(data)
        return Event(EventKind(kind), stamp, label, new_label, file_name)
    except _NOT_PLAIN:
        return None


def is_whole(data: bytes, type_name: str) -> bool:
    """Tell whether bytes are one whole message, from the first byte to the last.

    Args:
        data: CDR bytes with their encapsulation header.
        type_name: FeatureVector, LabelAnnotation or ModelEvent of this package.
    """
    try:
        _PARSERS[type_name](data)
    except _NOT_PLAIN:
        return False
    return True


def _vector(data: bytes) -> StampedVector:
    stamp, place = _header(data)
    values, place = _floats(data, place)
    return StampedVector(stamp, values, _last_text(data[place:]))


def _annotation(data: bytes) -> Annotation:
    stamp, place = _header(data)
    body = data[(place + 3) & ~3:]
    parse = _cached_annotation_body if len(body) <= _SHORT else _annotation_body
    return Annotation(stamp, *parse(body))


def _event(data: bytes) -> tuple[int, int, str, str, str]:
    stamp, place = _header(data)
    label, end = _text(data, place + 1)
    new_label, end = _text(data, end)
    file_name, end = _text(data, end)
    _check_end(data, end)
    return stamp, data[place], label, new_label, file_name


_PARSERS: dict[str, Callable[[bytes], object]] = {
    FEATURES_TYPE: _vector, ANNOTATION_TYPE: _annotation, EVENT_TYPE: _event}


def _annotation_body(data: bytes) -> _Body:
    """Return the fields of an annotation behind its header."""
    labels, place = _texts(data, 0)
    absent, place = _texts(data, place)
    complete = data[place]
    if complete > 1:
        raise ValueError('not a boolean')
    features, place = _floats(data, place + 1)
    extractor, place = _text(data, place)
    annotator, place = _text(data, place)
    _check_end(data, place)
    return (labels, absent, bool(complete), features if features.size else None, extractor,
            annotator)


# Many annotations say the same; parsing again takes longer than a look-up.
_cached_annotation_body = lru_cache(maxsize=4096)(_annotation_body)


@lru_cache(maxsize=4096)
def _last_text(data: bytes) -> str:
    text, place = _text(data, 0)
    _check_end(data, place)
    return text


def _header(data: bytes) -> tuple[int, int]:
    if data[:2] != _LITTLE_ENDIAN:
        raise ValueError('another encoding')
    seconds, nanoseconds, length = _HEADER.unpack_from(data, 4)
    end = 16 + length
    # frame_id is not needed, but what is wrong with it is for the library to say.
    if data[end - 1:end] != b'\0' or not length:
        raise ValueError('not a text')
    data[16:end - 1].decode()
    return seconds * NANOSECONDS + nanoseconds, end


def _text(data: bytes, place: int) -> tuple[str, int]:
    place = (place + 3) & ~3
    length, = _UINT.unpack_from(data, place)
    end = place + 4 + length
    # A text ends with a zero byte, which its length counts: a length of zero is damage as well.
    if length == 0 or end > len(data) or data[end - 1]:
        raise ValueError('not a text')
    return data[place + 4:end - 1].decode(), end


def _texts(data: bytes, place: int) -> tuple[tuple[str, ...], int]:
    place = (place + 3) & ~3
    count, = _UINT.unpack_from(data, place)
    place += 4
    if not count:
        return (), place
    if count > len(data):
        raise ValueError('more texts than bytes')
    texts = []
    for _ in range(count):
        text, place = _text(data, place)
        texts.append(text)
    # Repeated names count once, as everywhere.
    return tuple(dict.fromkeys(texts)), place


def _floats(data: bytes, place: int) -> tuple[Vector, int]:
    place = (place + 3) & ~3
    count, = _UINT.unpack_from(data, place)
    end = place + 4 + 4 * count
    if end > len(data):
        raise ValueError('cut off')
    if not count:
        return _NO_VALUES, end
    return np.frombuffer(data, _FLOAT, count, place + 4), end


def _check_end(data: bytes, place: int) -> None:
    if not place <= len(data) <= place + 3:
        raise ValueError('more than padding is left')
