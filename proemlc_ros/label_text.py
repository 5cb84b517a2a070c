# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Labels that people type: how a text or a cell names several, which known label a name may mean.

The page has the same grammar in label_text.js; a test compares the two.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from proemlc_ros.errors import DataSetError

# Similarity (twice the common letters over all letters) that counts as nearly the same: "cup" and
# "cups" have 0.86, "bottle" and "bottel" 0.83, "table" and "cable" 0.80.
NEARLY_SAME = 0.82
# Quotes that a name may stand in, with those that end it: a keyboard's, and those of a phone.
_QUOTES = {'"': '"', '“': '”', '„': '“', '«': '»'}

# Of the names in one cell of a CSV file; a comma there needs quotes around the cell.
CELL_SEPARATORS = ',;|'
# What a cell may hold where only yes and no make sense, in any case.
_YES = ('1', '1.0', 'true', 'yes', 'y', 't')
_NO = ('0', '0.0', '-1', 'false', 'no', 'n', 'f')


def csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file that are not blank, each with the number of its line.

    Raises:
        DataSetError: it cannot be read.
    """
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            reader = csv.reader(file)
            return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataSetError(f'{path}: cannot be read as CSV: {error}') from error


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as the text of a CSV file, for `csv_rows`."""
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(rows)
    return text.getvalue()


def is_yes(text: str) -> bool:
    """Read a cell that says yes or no: 1 or 0, true or false.

    Raises:
        ValueError: it says neither.
    """
    word = text.strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise ValueError(f'{text!r} is neither 1 nor 0')


def split_labels(text: str, separators: str = ',') -> tuple[str, ...]:
    """Return the labels that a text names, each once.

    Commas separate names. A name in double quotes may contain commas; two quotes inside stand
    for one. A quote that does not begin a name, or is never closed, is part of it.

    Args:
        text: as somebody typed it.
        separators: characters that separate names.

    >>> split_labels('cup, "salt, pepper", 5" pipe')
    ('cup', 'salt, pepper', '5" pipe')
    """
    names: list[str] = []
    place = 0
    while place <= len(text):
        quoted = _quoted_name(text, place, separators)
        name, place = quoted or _plain_name(text, place, separators)
        names.append(name.strip())
    return tuple(dict.fromkeys(filter(None, names)))


def _plain_name(text: str, place: int, separators: str) -> tuple[str, int]:
    """Return the name up to the next separator, and the place after it."""
    end = min((found for separator in separators
               if (found := text.find(separator, place)) >= 0), default=len(text))
    return text[place:end], end + 1


def _quoted_name(text: str, place: int, separators: str) -> tuple[str, int] | None:
    """Return the name in quotes that begins at a place, and the place after it, or None."""
    start = place + len(text[place:]) - len(text[place:].lstrip())
    closing = _QUOTES.get(text[start:start + 1])
    end = start + 1
    while closing and (end := text.find(closing, end)) >= 0:
        if text[end + 1:end + 2] == closing:
            end += 2
            continue
        rest = text[end + 1:].lstrip()
        if rest and rest[0] not in separators:
            return None
        return text[start + 1:end].replace(2 * closing, closing), len(text) - len(rest) + 1
    return None


def join_labels(names: Iterable[str]) -> str:
    """Return a text that names these labels, for `split_labels`.

    >>> join_labels(['cup', 'salt, pepper'])
    'cup, "salt, pepper"'
    """
    return ', '.join('"' + name.replace('"', '""') + '"'
                     if ',' in name or name[:1] in _QUOTES else name for name in names)


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


def twin_notes(names: Sequence[str], most: int = 3) -> list[str]:
    """Return a note for each of the first labels that is nearly the same as one before it.

    >>> twin_notes(['banana', 'cup', 'Banana'])
    ["'Banana' is nearly the same as 'banana': one label, or two?"]
    """
    notes = [f'{name!r} is nearly the same as {twins[0]!r}: one label, or two?'
             for place, name in enumerate(names)
             if (twins := near_duplicates(name, names[:place], 1))]
    more = [f'{len(notes) - most} more labels are nearly the same as others']
    return notes[:most] + more if len(notes) > most else notes


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
