# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A line that is being typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proemlc_ros.operator.similar import completion, matching

ENTER = frozenset({'\n', '\r', 'KEY_ENTER'})
BACKSPACE = frozenset({'\x7f', '\b', 'KEY_BACKSPACE'})
ESCAPE = '\x1b'
TAB = '\t'
ERASE_LINE = '\x15'
MAX_LENGTH = 200


@dataclass(slots=True)
class Prompt:
    """A question to the operator, answered by a line of text.

    Args:
        question: shown before the text.
        done: called with the text after Enter.
        known: names that Tab completes; None for no completion.
        text: typed so far.
        changed: called after each change of the text.
    """

    question: str
    done: Callable[[str], None]
    known: Sequence[str] | None = None
    text: str = ''
    changed: Callable[[str], None] = lambda text: None

    def key(self, key: str) -> bool:
        """Take a key; tell whether the prompt stays open. Enter closes it and calls `done`."""
        if key == ESCAPE:
            return False
        if key in ENTER:
            self.done(self.text.strip())
            return False
        before = self.text
        if key in BACKSPACE:
            self.text = self.text[:-1]
        elif key == ERASE_LINE:
            self.text = ''
        elif key == TAB and self.known is not None:
            self.text = completion(self.text, self.known)
        elif len(key) == 1 and key.isprintable() and len(self.text) < MAX_LENGTH:
            self.text += key
        if self.text != before:
            self.changed(self.text)
        return True

    def suggestions(self, limit: int = 8) -> list[str]:
        """Return known names that the text may become."""
        if not self.known or not self.text:
            return []
        return matching(self.text, self.known)[:limit]
