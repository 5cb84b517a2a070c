# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Labels and boxes drawn on a picture, for people who look at a topic."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.features.regions.proposals import as_rgb8
from proemlc_ros.regions import Region

_FONT = cv2.FONT_HERSHEY_SIMPLEX
# Letters are this share of the picture's height, but never too small to read.
_LETTER_SHARE, _LEAST_SCALE = 1 / 700, 0.4
NO_LABEL = (150, 150, 150)
_UNKNOWN_TEXT = "I don't know"


class Caption(NamedTuple):
    """What is written at a region; of the whole picture: in its upper left corner."""

    region: Region
    labels: tuple[str, ...]
    unknown: bool = False  # too novel for any label


def drawn(image: NDArray[Any], captions: Sequence[Caption]) -> NDArray[np.uint8]:
    """Return a copy of a picture as RGB with boxes and labels.

    Boxes with labels are drawn over those without, so that a crowd of proposals hides nothing.

    Args:
        image: (rows, columns) or RGB (rows, columns, 3), of 8 or 16 bits.
        captions: what to draw.
    """
    canvas = np.ascontiguousarray(as_rgb8(image)).copy()
    for caption in sorted(captions, key=lambda one: bool(one.labels)):
        _draw(canvas, caption)
    return canvas


def _colour_of(label: str) -> tuple[int, int, int]:
    """Return the colour of a label: the same in every run, bright enough for black letters.

    >>> _colour_of('cup') == _colour_of('cup') != _colour_of('plate')
    True
    """
    hue = zlib.crc32(label.encode()) % 180
    red, green, blue = cv2.cvtColor(
        np.array([[[hue, 150, 255]]], np.uint8), cv2.COLOR_HSV2RGB)[0, 0].tolist()
    return red, green, blue


def _draw(canvas: NDArray[np.uint8], caption: Caption) -> None:
    height, width = canvas.shape[:2]
    scale = max(_LEAST_SCALE, height * _LETTER_SHARE)
    thickness = max(1, round(2 * scale))
    colour = _colour_of(caption.labels[0]) if caption.labels else NO_LABEL
    left, top = 0, 0
    if not caption.region.is_whole:
        left, top, right, bottom = (
            int(np.clip(edge, 0, limit - 1)) for edge, limit in zip(
                caption.region.edges, (width, height) * 2, strict=True))
        cv2.rectangle(canvas, (left, top), (right, bottom), colour,
                      thickness if caption.labels else 1)
    # Of a crowd of boxes, that none is known needs no words.
    if not caption.labels and not (caption.unknown and caption.region.is_whole):
        return
    text = _printable(', '.join(caption.labels)) or _UNKNOWN_TEXT
    (text_width, text_height), below = cv2.getTextSize(text, _FONT, scale, 1)[:2]
    line = text_height + below + 2
    # Above the box where there is room, else inside it; never beyond the right edge.
    x = max(0, min(left, width - text_width - 1))
    y = top - line if top >= line else top
    cv2.rectangle(canvas, (x, y), (x + text_width, y + line), colour, -1)
    cv2.putText(canvas, text, (x, y + text_height + 1), _FONT, scale, (0, 0, 0), 1, cv2.LINE_AA)


def _printable(text: str) -> str:
    """Return a text with the letters that OpenCV can draw; '?' stands for others.

    >>> _printable('Käse')
    'K?se'
    """
    return ''.join(letter if ' ' <= letter <= '~' else '?' for letter in text)
