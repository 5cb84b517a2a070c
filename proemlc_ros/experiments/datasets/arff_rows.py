# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of an ARFF file to numbers, with what is wrong about a row in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_VALUE = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")


@dataclass(frozen=True)
class Attribute:
    """One column: its name and, where it is nominal, its values (None: numeric)."""

    name: str
    values: tuple[str, ...] | None = None

    def number(self, text: str) -> float:
        """Return a value as a number: itself, or the position among nominal words.

        Raises:
            ValueError: The text is neither.

        """
        if self.values is None:
            return float(text)
        if text not in self.values:
            raise ValueError(f'{text!r} is not one of the values of {self.name!r}')
        return float(text) if self.is_numeric else float(self.values.index(text))

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all values are numbers, as in {0,1}."""
        return self.values is None or all(_is_number(value) for value in self.values)


class RowReader:
    """Turns the rows of one file into numbers."""

    def __init__(self, attributes: list[Attribute]) -> None:
        """Note which columns a row of plain numbers has to be checked in."""
        self._attributes = attributes
        self._plain = all(attribute.is_numeric for attribute in attributes)
        self._nominal = [
            (column, {float(value) for value in attribute.values})
            for column, attribute in enumerate(attributes)
            if self._plain and attribute.values is not None
        ]

    def dense(self, line: str) -> np.ndarray:
        """Return the numbers of a row of values between commas.

        Raises:
            ValueError: The row has too few, too many or wrong values.

        """
        texts = split_values(line)
        if len(texts) != len(self._attributes):
            raise ValueError(f'{len(texts)} values for {len(self._attributes)} attributes')
        if self._plain:
            try:
                # One call for a row of plain numbers is ten times as fast as one a value.
                row = np.array(texts, dtype=float)
            except ValueError:
                pass  # the slow way below finds the value to blame
            else:
                nominal = all(row[column] in values for column, values in self._nominal)
                if nominal and np.isfinite(row).all():
                    return row
        return np.array([
            _number(text, attribute)
            for text, attribute in zip(texts, self._attributes, strict=True)
        ])

    def sparse(self, line: str) -> dict[int, float]:
        """Return column and number of each entry of a row in braces.

        Raises:
            ValueError: The row is cut off, or an entry is wrong.

        """
        if line[-1] != '}':
            raise ValueError('a sparse row without its closing brace; the file is cut off')
        entries: dict[int, float] = {}
        for entry in split_values(line[1:-1]) if line[1:-1].strip() else ():
            index, _, text = entry.partition(' ')
            if not index.isdigit() or not text or int(index) >= len(self._attributes):
                raise ValueError(
                    f'{entry!r} is not an attribute number below {len(self._attributes)} '
                    'and a value'
                )
            if int(index) in entries:
                raise ValueError(f'attribute {index} is given twice')
            entries[int(index)] = _number(unquote(text), self._attributes[int(index)])
        return entries


def unquote(text: str) -> str:
    """Take quotation marks and backslashes off a name or value."""
    text = text.strip()
    if len(text) >= 2 and text[0] in '\'"' and text[-1] == text[0]:
        text = text[1:-1]
    return re.sub(r'\\(.)', r'\1', text)


def split_values(text: str) -> list[str]:
    """Split at commas outside quotation marks."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(',')]
    found = [unquote(match[1]) for match in _VALUE.finditer(text)]
    # The pattern matches once more, emptily, at the very end.
    return found if text.rstrip().endswith(',') else found[:-1]


def _number(text: str, attribute: Attribute) -> float:
    if text == '?':
        raise ValueError(f'the value of {attribute.name!r} is missing (?); '
                         'fill it in or leave the row out')
    try:
        number = attribute.number(text)
    except ValueError as error:
        if attribute.values is not None:
            raise
        raise ValueError(f'{text!r} of {attribute.name!r} is not a number') from error
    if not np.isfinite(number):
        raise ValueError(f'the value of {attribute.name!r} is not finite')
    return number


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
