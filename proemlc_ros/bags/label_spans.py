# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A CSV file that says which labels a recording shows when: at a moment or over a span."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proemlc_ros.classifier.records import NANOSECONDS
from proemlc_ros.classifier.validation import Limits
from proemlc_ros.core.labels import check_label
from proemlc_ros.errors import LabelError, LabelFileError

_COLUMNS = ('start', 'end', 'labels', 'absent', 'complete')
_YES, _NO = ('', '1', 'true', 'yes'), ('0', 'false', 'no')


@dataclass(frozen=True)
class LabelSpan:
    """One line of the file.

    Attributes:
        line: Its number, for messages.
        start: Nanoseconds, as the file counts them.
        end: Nanoseconds; None for a moment.
        labels: Names that are present; none: "nothing of interest".
        absent: Names that are absent; matters where complete is false.
        complete: Whether all other labels are absent.

    """

    line: int
    start: int
    end: int | None
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True


def read_label_spans(path: str | Path) -> list[LabelSpan]:
    """Read the file.

    It has a header line; `start` (or `time`) in seconds and `labels` (names separated by ";") are
    needed; `end`, `absent` and `complete` are optional.

    Raises:
        LabelFileError: The file cannot be read or understood; names file and line.

    """
    path = Path(path)
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabelFileError(f'{path}: cannot be read as CSV: {error}') from error
    if not rows:
        raise LabelFileError(f'{path}: is empty; expected a header such as start,end,labels')
    header = _header(path, rows[0][1])
    spans = []
    for line, row in rows[1:]:
        if len(row) > len(header):
            raise LabelFileError(f'{path}:{line}: {len(row)} values for {len(header)} columns')
        try:
            spans.append(_span(line, dict(zip(header, row, strict=False))))
        except ValueError as error:
            raise LabelFileError(f'{path}:{line}: {error}') from None
    if not spans:
        raise LabelFileError(f'{path}: has no lines below its header')
    return spans


def _header(path: Path, row: Sequence[str]) -> list[str]:
    names = [name.strip().lower().replace('time', 'start') for name in row]
    unknown = [name for name in names if name not in _COLUMNS]
    if unknown or 'start' not in names or 'labels' not in names or len(set(names)) < len(names):
        raise LabelFileError(
            f'{path}:1: the header is {",".join(row)!r}; expected start (or time) and labels, '
            'and if wanted end, absent, complete')
    return names


def _span(line: int, cells: dict[str, str]) -> LabelSpan:
    start = _time(cells['start'])
    end = _time(cells['end']) if cells.get('end', '').strip() else None
    if end is not None and end < start:
        raise ValueError(f'the end {cells["end"]} is before the start {cells["start"]}')
    complete = cells.get('complete', '').strip().lower()
    if complete not in (*_YES, *_NO):
        raise ValueError(f'complete is {complete!r}; expected true or false')
    return LabelSpan(
        line, start, end, _names(cells.get('labels', '')), _names(cells.get('absent', '')),
        complete in _YES)


def _time(text: str) -> int:
    try:
        seconds, _, fraction = text.strip().partition('.')
        # By parts: a float does not hold the nanoseconds of a date.
        if seconds.isdecimal() and (not fraction or fraction.isdecimal()):
            return int(seconds) * NANOSECONDS + int(fraction[:9].ljust(9, '0'))
        value = float(text)
    except ValueError:
        raise ValueError(f'{text!r} is not a time in seconds') from None
    if not math.isfinite(value) or value < 0:
        raise ValueError(f'{text!r} is not a time in seconds')
    return round(value * NANOSECONDS)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(';') if name.strip()))
    for name in names:
        try:
            check_label(name, Limits().max_label_length)
        except LabelError as error:
            raise ValueError(str(error)) from error
    return names
