# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The ARFF file format of Weka, Mulan and MEKA: dense and sparse rows of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets.arff_rows import Attribute, RowReader, split_values, unquote

# A word, or a quoted text in which a backslash takes the meaning off the next character.
_NAME = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,{}'"]\S*"""
_ATTRIBUTE = re.compile(rf'@attribute\s+({_NAME})\s+(.+)', re.IGNORECASE)
_NUMERIC = ('numeric', 'real', 'integer')


@dataclass(frozen=True)
class ArffTable:
    """The content of an ARFF file; nominal words are given by their position."""

    relation: str
    attributes: list[Attribute]
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
) -> tuple[str, list[Attribute]]:
    """Read up to @data; return the relation and the attributes."""
    relation, attributes, number = '', [], 0
    for number, line in content:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == '@relation':
            relation = unquote(line[len('@relation'):])
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
    raise DataSetError(f'{path}:{number}: the file ends before @data; it is cut off or no ARFF')


def _attribute(path: Path, number: int, line: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataSetError(f'{path}:{number}: not an attribute declaration: {line[:60]!r}')
    name, kind = unquote(match[1]), match[2].strip()
    if kind.startswith('{') and kind.endswith('}'):
        return Attribute(name, tuple(split_values(kind[1:-1])))
    if kind.lower() in _NUMERIC:
        return Attribute(name)
    raise DataSetError(
        f'{path}:{number}: attribute {name!r} is of type {kind[:40]!r}; '
        'only numeric and nominal attributes can be learnt from'
    )


def _read_rows(
    path: Path, content: Iterator[tuple[int, str]], attributes: list[Attribute]
) -> np.ndarray | sparse.csr_matrix:
    reader = RowReader(attributes)
    dense: list[np.ndarray] = []
    data, columns, starts = [], [], [0]
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
