# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads ARFF files, dense and sparse: declarations, then rows of numbers and words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import sparse

from proemlc_ros.errors import DataSetError

# A word, or a quoted text in which a backslash escapes the next character.
_NAME = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,{}'"]\S*"""
_ATTRIBUTE = re.compile(rf'@attribute\s+({_NAME})\s+(.+)', re.IGNORECASE)
_NUMERIC = ('numeric', 'real', 'integer')
_VALUE = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")


@dataclass(frozen=True)
class _Attribute:
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


@dataclass(frozen=True)
class ArffTable:
    """The content of an ARFF file; nominal words are given by their position."""

    relation: str
    attributes: list[_Attribute]
    values: np.ndarray | sparse.csr_matrix


def read_arff(path: Path) -> ArffTable:
    """Read an ARFF file.

    Args:
        path: The file.

    Returns:
        Its table; CSR where any row is in sparse notation.

    Raises:
        DataSetError: The file cannot be read or is damaged; names file and line.
    """
    try:
        with path.open(encoding='utf-8', errors='replace') as file:
            lines = ((number, line.strip()) for number, line in enumerate(file, 1))
            content = ((number, line) for number, line in lines if line and line[0] != '%')
            relation, attributes = _read_header(path, content)
            return ArffTable(relation, attributes, _read_rows(path, content, attributes))
    except OSError as error:
        raise DataSetError(f'{path}: cannot be read: {error.strerror}') from error


def _read_header(
    path: Path, content: Iterator[tuple[int, str]]
) -> tuple[str, list[_Attribute]]:
    """Read up to @data; return the relation and the attributes."""
    relation, attributes, number = '', [], 0
    for number, line in content:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == '@relation':
            relation = _unquote(line[len('@relation'):])
        elif keyword == '@attribute':
            attributes.append(_attribute(path, number, line))
        elif keyword == '@data':
            if not attributes:
                raise DataSetError(f'{path}:{number}: @data before any @attribute')
            return relation, attributes
        else:
            raise DataSetError(
                f'{path}:{number}: expected @relation, @attribute or @data, found {line[:60]!r}'
            )
    raise DataSetError(f'{path}:{number}: the file ends before @data; it is cut off or not ARFF')


def _attribute(path: Path, number: int, line: str) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataSetError(f'{path}:{number}: not an attribute declaration: {line[:60]!r}')
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.startswith('{') and kind.endswith('}'):
        return _Attribute(name, tuple(_split_values(kind[1:-1])))
    if kind.lower() in _NUMERIC:
        return _Attribute(name)
    raise DataSetError(
        f'{path}:{number}: attribute {name!r} is of type {kind[:40]!r}; '
        'only numeric and nominal attributes can be learnt from'
    )


def _read_rows(
    path: Path, content: Iterator[tuple[int, str]], attributes: list[_Attribute]
) -> np.ndarray | sparse.csr_matrix:
    reader = _RowReader(attributes)
    dense: list[np.ndarray] = []
    data: list[float] = []
    columns: list[int] = []
    starts = [0]
    for number, line in content:
        try:
            if line[0] == '{':
                entries = reader.sparse(line)
                columns.extend(entries)
                data.extend(entries.values())
                starts.append(len(data))
            else:
                dense.append(reader.dense(line))
        except ValueError as error:
            raise DataSetError(f'{path}:{number}: {error}') from None
        if dense and len(starts) > 1:
            raise DataSetError(f'{path}:{number}: sparse and dense rows in one file')
    if dense:
        return np.vstack(dense)
    if len(starts) == 1:
        raise DataSetError(f'{path}: no rows after @data; the file is cut off or empty')
    shape = (len(starts) - 1, len(attributes))
    return sparse.csr_matrix((data, columns, starts), shape=shape, dtype=float)


class _RowReader:
    """Turns the rows of one file into numbers."""

    def __init__(self, attributes: list[_Attribute]) -> None:
        """Find the columns in which a row of plain numbers has to be checked."""
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
        texts = _split_values(line)
        if len(texts) != len(self._attributes):
            raise ValueError(f'{len(texts)} values for {len(self._attributes)} attributes')
        if self._plain:
            try:
                # One call per row of plain numbers is ten times as fast as one per value.
                row = np.array(texts, dtype=float)
            except ValueError:
                pass  # the slow path below names the wrong value
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
        for entry in _split_values(line[1:-1]) if line[1:-1].strip() else ():
            index, _, text = entry.partition(' ')
            if not index.isdigit() or not text or int(index) >= len(self._attributes):
                raise ValueError(
                    f'{entry!r} is not an attribute number below {len(self._attributes)} '
                    'and a value'
                )
            if int(index) in entries:
                raise ValueError(f'attribute {index} is given twice')
            entries[int(index)] = _number(_unquote(text), self._attributes[int(index)])
        return entries


def _unquote(text: str) -> str:
    """Take quotation marks and backslashes off a name or value."""
    text = text.strip()
    if len(text) >= 2 and text[0] in '\'"' and text[-1] == text[0]:
        text = text[1:-1]
    return re.sub(r'\\(.)', r'\1', text)


def _split_values(text: str) -> list[str]:
    """Split at commas outside quotation marks."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(',')]
    found = [_unquote(match[1]) for match in _VALUE.finditer(text)]
    # The pattern matches once more, emptily, at the very end.
    return found if text.rstrip().endswith(',') else found[:-1]


def _number(text: str, attribute: _Attribute) -> float:
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
