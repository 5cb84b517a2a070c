# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Limits on message definitions, checked before the library rosbags parses them.

Its parser takes 0.4 ms per line, minutes for 100,000 blank lines, and twice as long for each
bracket around a number; expressions are worked out whatever their result. Definitions that ROS
writes are far below these limits.
"""

from __future__ import annotations

import re

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

MAX_CHARACTERS = 1_000_000
# Lines with content: of one definition, and of all in a bag.
MAX_LINES = 5_000
MAX_LINES_IN_ALL = 20_000
# In IDL. ROS nests two: sequence<string<10>>.
MAX_NESTING = 4
MAX_TYPEDEFS = 100
_IGNORED = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_ANNOTATION = re.compile(r'@\w+\s*\([^()]*\)')
_EXPRESSION = re.compile(r'[()|^&~%*/]|<<|[-+]\s*[-+]')


class DefinitionReader:
    """Hands out the definitions of one bag, as long as they are within the limits."""

    def __init__(self) -> None:
        self._lines = 0

    def text_of(self, definition: MessageDefinition) -> str:
        """Return the text to parse.

        Raises:
            ValueError: a limit is exceeded; names it.
        """
        text = definition.data
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f'it has {len(text)} characters, more than the limit of '
                             f'{MAX_CHARACTERS}')
        lines = [line for line in text.splitlines()
                 if line.strip() and not line.lstrip().startswith('#')]
        if len(lines) > MAX_LINES:
            raise ValueError(f'it has {len(lines)} lines, more than the limit of {MAX_LINES}')
        self._lines += len(lines)
        if self._lines > MAX_LINES_IN_ALL:
            raise ValueError(f'the definitions of the bag have more than the limit of '
                             f'{MAX_LINES_IN_ALL} lines')
        if definition.format == MessageDefinitionFormat.MSG:
            return '\n'.join(lines)
        _check_idl(text)
        return text


def _check_idl(text: str) -> None:
    """Check for what the parser takes exponential time for, and ROS never writes."""
    code = _ANNOTATION.sub('', _IGNORED.sub('', text))
    if found := _EXPRESSION.search(code):
        raise ValueError(f'it has an expression with {found[0]!r}; only numbers are allowed')
    if code.count('typedef') > MAX_TYPEDEFS:
        raise ValueError(f'it has more than the limit of {MAX_TYPEDEFS} typedefs')
    for opening, closing in ('<>', '{}', '[]'):
        depth = 0
        for character in code:
            depth += (character == opening) - (character == closing)
            if depth > MAX_NESTING:
                raise ValueError(f'it nests {opening}{closing} deeper than the limit of '
                                 f'{MAX_NESTING}')
