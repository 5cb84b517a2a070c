# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Our own messages as CDR bytes: parsed, and for the journal written, without ROS or a library.

Feature vectors are read three times as fast as by general deserialization, and a whole message is
told from what a damaged file has left of one: general deserializers trust every length that they
read and may take hours over a wrong one. Only plain little-endian CDR of exactly our definitions,
or of earlier ones that lack the last fields, is parsed; all else is left to the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from struct import Struct
from struct import error as struct_error
from typing import Any

import numpy as np

from proemlc_ros.records import (
    WHOLE,
    Annotation,
    Event,
    EventKind,
    Picture,
    Region,
    StampedVector,
    Vector,
)
from proemlc_ros.stamps import NANOSECONDS

ANNOTATION_TYPE = 'proemlc_ros/msg/LabelAnnotation'
EVENT_TYPE = 'proemlc_ros/msg/ModelEvent'
FEATURES_TYPE = 'proemlc_ros/msg/FeatureVector'
PICTURE_TYPE = 'sensor_msgs/msg/CompressedImage'

_LITTLE_ENDIAN = b'\x00\x01'
# Behind the four bytes that tell the encoding: stamp and the length of frame_id.
_HEADER = Struct('<iII')
_UINT = Struct('<I')
_LONG = Struct('<Q')
_BOX = Struct('<4d')
# Bytes of the encapsulation header; alignment counts from behind it.
_START = 4
_FLOAT = np.dtype('<f4')
_NO_VALUES: Vector = np.empty(0, np.float32)
# Longest body of an annotation, in bytes, that is worth caching: it has no features of its own.
_SHORT = 512
_NOT_PLAIN = (struct_error, ValueError, IndexError)

# Labels, absent labels, complete, features, extractor, annotator, region, request, entry.
_Body = tuple[tuple[str, ...], tuple[str, ...], bool, Vector | None, str, str, Region, None, int]


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
        kind, fields = _event(data)
        return Event(EventKind(kind), *fields)
    except _NOT_PLAIN:
        return None


def is_whole(data: bytes, type_name: str) -> bool:
    """Tell whether bytes are one whole message, from the first byte to the last.

    Args:
        data: CDR bytes with their encapsulation header.
        type_name: FeatureVector, LabelAnnotation or ModelEvent of this package, or
            CompressedImage.
    """
    try:
        _PARSERS[type_name](data)
    except _NOT_PLAIN:
        return False
    return True


def _vector(data: bytes) -> StampedVector:
    stamp, place = _header(data)
    values, place = _floats(data, place)
    return StampedVector(stamp, values, *_origin(data[place:], place - _START & 7))


def _annotation(data: bytes) -> Annotation:
    stamp, place = _header(data)
    place = (place + 3) & ~3
    body = data[place:]
    parse = _cached_annotation_body if len(body) <= _SHORT else _annotation_body
    return Annotation(stamp, *parse(body, place - _START & 7))


def _event(data: bytes) -> tuple[int, tuple[Any, ...]]:
    """Return the kind as a number, and the other fields."""
    stamp, place = _header(data)
    kind = data[place]
    label, place = _text(data, place + 1)
    new_label, place = _text(data, place)
    file_name, place = _text(data, place)
    if _is_end(data, place):
        return kind, (stamp, label, new_label, file_name)
    place += _START - place & 7
    sample, = _LONG.unpack_from(data, place)
    labels, place = _texts(data, place + 8)
    absent, place = _texts(data, place)
    complete = _boolean(data, place)
    annotator, place = _text(data, place + 1)
    entry = _entry(data, place, -_START)
    return kind, (stamp, label, new_label, file_name, sample, labels, absent, complete, annotator,
                  entry)


def read_picture(data: bytes) -> Picture:
    """Return the picture of a serialized CompressedImage.

    Raises:
        ValueError, struct.error, IndexError: it is not plainly one.
    """
    stamp, place = _header(data)
    image_format, place = _text(data, place)
    place = (place + 3) & ~3
    length, = _UINT.unpack_from(data, place)
    if place + 4 + length > len(data):
        raise ValueError('cut off')
    _check_end(data, place + 4 + length)
    return Picture(stamp, image_format, data[place + 4:place + 4 + length])


def picture_bytes(picture: Picture) -> bytes:
    """Return a picture as a serialized CompressedImage."""
    head = _written(picture.stamp, (picture.format,))
    return head + bytes(-len(head) & 3) + _UINT.pack(len(picture.data)) + picture.data


def annotation_bytes(annotation: Annotation) -> bytes:
    """Return an annotation as a serialized LabelAnnotation."""
    features = _NO_VALUES if annotation.features is None else annotation.features
    return _written(annotation.stamp, (
        annotation.labels, annotation.absent, annotation.complete, features, annotation.extractor,
        annotation.annotator, annotation.region.id, _BOX.pack(*annotation.region.box),
        annotation.entry))


def event_bytes(event: Event) -> bytes:
    """Return an event as a serialized ModelEvent."""
    return _written(event.stamp, (
        bytes([event.kind]), event.label, event.new_label, event.file_name, event.sample,
        event.labels, event.absent, event.complete, event.annotator, event.entry))


def _written(stamp: int, fields: Iterable[Any]) -> bytes:
    """Return a message behind its header: texts, lists of them, numbers, each at its alignment."""
    data = bytearray(_LITTLE_ENDIAN + b'\0\0' + _HEADER.pack(*divmod(stamp, NANOSECONDS), 1)
                     + b'\0')
    for field in fields:
        if isinstance(field, bool):
            data.append(field)
        elif isinstance(field, bytes) and len(field) == 1:
            data += field
        elif isinstance(field, (int, bytes)):
            data += bytes(_START - len(data) & 7)
            data += _LONG.pack(field) if isinstance(field, int) else field
        elif isinstance(field, np.ndarray):
            data += bytes(-len(data) & 3)
            data += _UINT.pack(field.size) + np.ascontiguousarray(field, _FLOAT).tobytes()
        else:
            texts = (field,) if isinstance(field, str) else field
            if texts is field:
                data += bytes(-len(data) & 3) + _UINT.pack(len(texts))
            for text in texts:
                encoded = text.encode() + b'\0'
                data += bytes(-len(data) & 3) + _UINT.pack(len(encoded)) + encoded
    return bytes(data)


_PARSERS: dict[str, Callable[[bytes], object]] = {
    FEATURES_TYPE: _vector, ANNOTATION_TYPE: _annotation, EVENT_TYPE: _event,
    PICTURE_TYPE: read_picture}


def _annotation_body(data: bytes, offset: int) -> _Body:
    """Return the fields of an annotation behind its header; offset: of the body, modulo 8."""
    labels, place = _texts(data, 0)
    absent, place = _texts(data, place)
    complete = _boolean(data, place)
    features, place = _floats(data, place + 1)
    return (labels, absent, complete, features if features.size else None,
            *_annotation_end(data[place:], place + offset & 7))


@lru_cache(maxsize=4096)
def _annotation_end(data: bytes, offset: int) -> tuple[str, str, Region, None, int]:
    """Return the fields behind the features; offset: of their first byte, modulo 8."""
    extractor, place = _text(data, 0)
    annotator, place = _text(data, place)
    if _is_end(data, place):
        return extractor, annotator, WHOLE, None, 0
    region, place = _region(data, place, offset)
    return extractor, annotator, region, None, _entry(data, place, offset)


# Many annotations say the same; parsing again takes longer than a look-up.
_cached_annotation_body = lru_cache(maxsize=4096)(_annotation_body)


@lru_cache(maxsize=4096)
def _origin(data: bytes, offset: int) -> tuple[str, str, Region, int]:
    """Return extractor, topic, region and number of regions of a vector; offset: as above."""
    extractor, place = _text(data, 0)
    if _is_end(data, place):
        return extractor, '', WHOLE, 0
    source_topic, place = _text(data, place)
    region, place = _region(data, place, offset)
    count, = _UINT.unpack_from(data, place)
    _check_end(data, place + 4)
    return extractor, source_topic, region, count


def _region(data: bytes, place: int, offset: int) -> tuple[Region, int]:
    name, place = _text(data, place)
    place += -(place + offset) & 7
    return Region(name, *_BOX.unpack_from(data, place)), place + _BOX.size


def _entry(data: bytes, place: int, offset: int) -> int:
    """Return the number at the end of a message; 0 where an earlier version has written it."""
    if _is_end(data, place):
        return 0
    place += -(place + offset) & 7
    _check_end(data, place + _LONG.size)
    entry: int = _LONG.unpack_from(data, place)[0]
    return entry


def _boolean(data: bytes, place: int) -> bool:
    if data[place] > 1:
        raise ValueError('not a boolean')
    return bool(data[place])


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


def _is_end(data: bytes, place: int) -> bool:
    """Tell whether nothing but padding follows."""
    return place <= len(data) <= place + 3


def _check_end(data: bytes, place: int) -> None:
    if not _is_end(data, place):
        raise ValueError('more than padding is left')
