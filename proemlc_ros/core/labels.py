# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Label names, their columns and their counts; and what an annotation says."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.solving.blas import Array
from proemlc_ros.errors import (
    LabelError,
    LabelExistsError,
    LengthMismatchError,
    UnknownLabelError,
)


class SampleLabels(NamedTuple):
    """What is said about one sample."""

    present: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True

    @property
    def named(self) -> tuple[str, ...]:
        """The labels that must be known to learn this; "absent" adds nothing where complete."""
        return self.present if self.complete else self.present + self.absent


@lru_cache(maxsize=65536)
def check_name(name: str) -> str:
    """Return a label name as plain text.

    Raises:
        LabelError: when it is empty, blank, has control characters or is no valid text.
    """
    if not name.strip():
        raise LabelError(f'a label is {name!r}; give a name with at least one visible character')
    for character in name:
        if unicodedata.category(character) in ('Cc', 'Cs'):
            raise LabelError(f'the label {name!r} has the control character {character!r}; '
                             'leave it out')
    return str(name)


def read_names(names: object, what: str = 'labels') -> tuple[str, ...]:
    """Return a collection of label names as a tuple without repetitions.

    A set is sorted, since its own order differs from run to run.

    Raises:
        LabelError: when it is not a collection of usable names.
    """
    if isinstance(names, (str, bytes)):
        raise LabelError(f'{what} is the single text {names!r}; '
                         f'give a collection of names, such as [{names!r}]')
    try:
        listed: tuple[str, ...] = tuple(names)  # type: ignore[arg-type]
    except TypeError as error:
        raise LabelError(f'{what} is {names!r}; give a collection of names') from error
    for name in listed:
        if not isinstance(name, str):
            raise LabelError(f'{what} holds {name!r}, which is not text; give names as text')
        check_name(name)
    if isinstance(names, (set, frozenset)):
        return tuple(sorted(listed))
    return listed if len(listed) < 2 else tuple(dict.fromkeys(listed))


def read_annotation(labels: object, absent: object = None, complete: object = True) -> SampleLabels:
    """Return what is said about one sample, checked.

    Raises:
        LabelError: when the labels cannot be used or contradict each other.
    """
    present = read_names(labels)
    if complete is not True and complete is not False:
        raise LabelError(f'complete is {complete!r}; give True or False')
    if absent is None:
        return SampleLabels(present, (), complete)
    missing = read_names(absent, 'absent')
    if both := set(present) & set(missing):
        raise LabelError(f'{sorted(both)} are said to be present and absent; decide for one')
    return SampleLabels(present, missing, complete)


def read_annotations(count: int, labels: object, absent: object = None,
                     complete: object = True) -> list[SampleLabels]:
    """Return one annotation for each of count samples; complete: one value, or one a sample.

    Raises:
        LabelError: when labels cannot be used.
        LengthMismatchError: when there is not one collection a sample.
    """
    listed = _one_each(count, labels, 'labels')
    unlisted = [None] * count if absent is None else _one_each(count, absent, 'absent')
    rules = ([complete] * count if isinstance(complete, bool)
             else _one_each(count, complete, 'complete'))
    rules = [bool(rule) if hasattr(rule, 'dtype') else rule for rule in rules]
    return [_read_again(*said) for said in zip(listed, unlisted, rules)]


# A stream says the same of many samples. "typed", since 1 equals True but is no answer.
_remembered = lru_cache(maxsize=4096, typed=True)(read_annotation)


def _read_again(labels: object, absent: object, complete: object) -> SampleLabels:
    if type(labels) is tuple and absent is None:
        try:
            return _remembered(labels, absent, complete)
        except TypeError:
            pass  # Something in it cannot be remembered, and is no name either.
    return read_annotation(labels, absent, complete)


def _one_each(count: int, values: object, what: str) -> list[object]:
    if isinstance(values, (str, bytes, set, frozenset, dict)):
        raise LabelError(f'{what} is {values!r}; give a list with one entry a sample')
    try:
        listed: list[object] = list(values)  # type: ignore[call-overload]
    except TypeError as error:
        raise LabelError(f'{what} is {values!r}; give a list with one entry a sample') from error
    if len(listed) != count:
        raise LengthMismatchError(
            f'{what} has {len(listed)} entries for {count} samples; give one entry a sample')
    return listed


def indicators(named: Sequence[Collection[str]], columns: Mapping[str, int],
               width: int) -> npt.NDArray[np.bool_]:
    """Return which columns are named for which row, (n, width)."""
    cells = np.zeros((len(named), width), dtype=bool)
    rows = np.repeat(np.arange(len(named)), list(map(len, named)))
    places = map(columns.__getitem__, chain.from_iterable(named))
    cells[rows, np.fromiter(places, np.intp, len(rows))] = True
    return cells


def _handicap(name: str, count: int) -> float:
    return _tie_break(name) if count else -np.inf


@lru_cache(maxsize=65536)
def _tie_break(name: str) -> float:
    return -1e-9 * zlib.crc32(name.encode()) / 2.0 ** 32


class LabelColumns:
    """Names in column order, and how many learnt samples showed each.

    Column 0 of the weights belongs to the label that nobody has named yet; names start at 1.
    """

    def __init__(self, names: Iterable[str] = (), counts: Iterable[int] | None = None) -> None:
        """Start with these names, none of them learnt unless counts say so."""
        self.names = list(names)
        self.counts = list(counts) if counts is not None else [0] * len(self.names)
        self.columns = {name: column for column, name in enumerate(self.names, start=1)}
        # Added to scores before labels are chosen: -inf for labels that no sample has shown; next
        # to nothing for the others, so that equal scores rank the same in every column order.
        self.handicap: Array = np.array(list(map(_handicap, self.names, self.counts)))

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.names)

    def column(self, name: str) -> int:
        """Return the column of a name.

        Raises:
            UnknownLabelError: when there is no such label.
        """
        try:
            return self.columns[name]
        except (KeyError, TypeError):
            known = ', '.join(map(repr, self.names[:20])) or 'none yet'
            raise UnknownLabelError(f'there is no label {name!r}; known labels: {known}') from None

    def add(self, name: str) -> None:
        """Append a name."""
        self.names.append(name)
        self.counts.append(0)
        self.columns[name] = len(self.names)
        self.handicap = np.append(self.handicap, -np.inf)

    def count(self, name: str, step: int) -> None:
        """Count one more sample that shows a label; step -1: one less."""
        place = self.columns[name] - 1
        self.counts[place] += step
        self.handicap[place] = _handicap(name, self.counts[place])

    def rename(self, name: str, new_name: str) -> None:
        """Give a label another name; its column stays."""
        column = self.column(name)
        if new_name in self.columns and new_name != name:
            raise LabelExistsError(f'there is a label {new_name!r} already; '
                                   f'choose another name for {name!r}, or remove one of them')
        self.names[column - 1] = new_name
        del self.columns[name]
        self.columns[new_name] = column
        self.handicap[column - 1] = _handicap(new_name, self.counts[column - 1])

    def remove(self, name: str) -> int:
        """Remove a label; later columns move up by one. Returns the column it had."""
        column = self.column(name)
        del self.names[column - 1], self.counts[column - 1]
        self.columns = {other: place for place, other in enumerate(self.names, start=1)}
        self.handicap = np.delete(self.handicap, column - 1)
        return column

    def copy(self) -> LabelColumns:
        """Return an independent copy."""
        return LabelColumns(self.names, self.counts)
