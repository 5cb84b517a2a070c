# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Known labels that a typed name may mean: completion, and the warning of near duplicates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

# Similarity (twice the common letters over all letters) that counts as nearly the same: "cup" and
# "cups" have 0.86, "bottle" and "bottel" 0.83, "table" and "cable" 0.80.
NEARLY_SAME = 0.82


def plain(name: str) -> str:
    """Return a name without what people vary by accident: case, accents, separators."""
    letters = unicodedata.normalize('NFKD', name.casefold())
    letters = ''.join(letter for letter in letters if not unicodedata.combining(letter))
    return ' '.join(re.split(r'[\s_\-./]+', letters)).strip()


def near_duplicates(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return known labels that a new name is nearly the same as, the most similar first.

    A known name itself is not a new label and gives an empty list. Names that differ in their
    numbers ("shelf 1", "shelf 2") are meant to differ.

    >>> near_duplicates('cups', ['cup', 'bowl'])
    ['cup']
    """
    wanted = plain(name)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    found = []
    for other in known:
        if other == name:
            return []
        similarity = _similarity(matcher, wanted, plain(other))
        if similarity >= NEARLY_SAME:
            found.append((-similarity, other))
    return [other for _, other in sorted(found)[:limit]]


def _similarity(matcher: SequenceMatcher[str], wanted: str, other: str) -> float:
    if wanted == other:
        return 1.0
    if re.findall(r'\d+', wanted) != re.findall(r'\d+', other):
        return 0.0
    matcher.set_seq1(other)
    # The quick ratios are upper bounds and spare most names the full comparison.
    if matcher.real_quick_ratio() < NEARLY_SAME or matcher.quick_ratio() < NEARLY_SAME:
        return 0.0
    return matcher.ratio()


def matching(text: str, known: Sequence[str]) -> list[str]:
    """Return the known labels that contain a text: those that begin with it first.

    >>> matching('cu', ['focus', 'Cup', 'bowl'])
    ['Cup', 'focus']
    """
    wanted = plain(text)
    if not wanted:
        return list(known)
    plain_names = [(plain(name), name) for name in known]
    first = [name for simple, name in plain_names if simple.startswith(wanted)]
    inside = [name for simple, name in plain_names
              if wanted in simple and not simple.startswith(wanted)]
    return first + inside


def completion(text: str, known: Sequence[str]) -> str:
    """Return the text extended as far as the labels that begin with it agree.

    >>> completion('to', ['tomato', 'tomato soup'])
    'tomato'
    """
    begun = [name for name in known if name.casefold().startswith(text.casefold())]
    if not text or not begun:
        return text
    for length in range(len(begun[0]), len(text), -1):
        prefix = begun[0][:length]
        if all(name.casefold().startswith(prefix.casefold()) for name in begun):
            return prefix
    return begun[0][:len(text)]
