# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tells whole CDR messages of the journal from what damaged pages leave of them.

Deserialisers trust the lengths that they read and may take hours over a wrong one, so bytes saved
from a damaged file are walked through first.
"""

from __future__ import annotations

import struct

# Fields by kind: w a 4-byte word, b a byte, s a string, S a list of strings, F a list of words.
ANNOTATION_LAYOUT = 'wwsSSbFss'
EVENT_LAYOUT = 'wwsbsss'

_HEADER = 4  # Bytes of encapsulation; alignment counts from behind them.
_LITTLE_ENDIAN = 1


def is_whole(data: bytes, layout: str) -> bool:
    """Tell whether bytes are one message of a layout, from the first to the last byte.

    Args:
        data: CDR bytes with their encapsulation header.
        layout: kinds of the fields, in order.
    """
    if len(data) < _HEADER or data[0] != 0 or data[1] != _LITTLE_ENDIAN:
        return False
    walk = _Walk(data)
    try:
        for kind in layout:
            walk.step[kind]()
    except (ValueError, struct.error):
        return False
    return 0 <= len(data) - walk.position < 4  # Padding at the end is allowed.


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = _HEADER
        self.step = {'w': self.word, 'b': self.byte, 's': self.string,
                     'S': self.strings, 'F': self.words}

    def word(self) -> int:
        self.position += -(self.position - _HEADER) % 4
        value, = struct.unpack_from('<I', self.data, self.position)
        self.position += 4
        return int(value)

    def byte(self) -> None:
        self.position += 1

    def string(self) -> None:
        length = self.word()
        self.position += length
        # An empty string is one zero byte, so a length of zero is damage as well.
        if not length or self.data[self.position - 1:self.position] != b'\0':
            raise ValueError

    def strings(self) -> None:
        for _ in range(self.word()):
            self.string()

    def words(self) -> None:
        count = self.word()
        self.position += 4 * count
        if self.position > len(self.data):
            raise ValueError
