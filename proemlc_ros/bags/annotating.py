# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Adds annotations to a bag from a CSV file of times and labels."""

from __future__ import annotations

import csv
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.writer import ANNOTATIONS_TOPIC, BagWriter
from proemlc_ros.classifier.validation import Limits
from proemlc_ros.core.labels import check_label
from proemlc_ros.errors import BagError, LabelError, LabelFileError
from proemlc_ros.journal.metadata import BagTopic
from proemlc_ros.records import Annotation
from proemlc_ros.stamps import NANOSECONDS, stamp_of

_COLUMNS = ('start', 'end', 'labels', 'absent', 'complete')
_YES, _NO = ('', '1', 'true', 'yes'), ('0', 'false', 'no')


@dataclass(frozen=True)
class LabelSpan:
    """One line of the CSV file.

    Args:
        line: number of the line, for error messages.
        start: nanoseconds, as the file counts them.
        end: nanoseconds; None: only the message nearest to `start`.
        labels: names that are present; none: "nothing of interest".
        absent: names that are absent; matters where `complete` is false.
        complete: whether all other labels are absent.
    """

    line: int
    start: int
    end: int | None
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True


def read_label_spans(path: str | Path) -> list[LabelSpan]:
    """Read a CSV file of times and labels.

    Its header names the columns: `start` (or `time`) in seconds and `labels` (names separated by
    ";"); optional are `end`, `absent` and `complete`.

    Raises:
        LabelFileError: the file cannot be read or has an error; the text names file and line.
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


def annotate_bag(
    source: BagReader, target: str | Path, spans: Sequence[LabelSpan], topic: BagTopic,
    storage: str = 'mcap', relative: bool = True, annotator: str = '', reach: float = 0.5,
) -> int:
    """Copy a bag and put an annotation behind each message that a span covers.

    Args:
        source: bag to copy.
        target: folder to make.
        spans: labels by time. A message that several spans cover gets all their labels.
        topic: topic of the messages to annotate.
        storage: 'mcap' or 'sqlite3'.
        relative: whether times count from the beginning of the bag, or are dates.
        annotator: name written into the annotations.
        reach: largest distance in seconds of a span without end from the nearest message.

    Returns:
        Number of annotations written.

    Raises:
        BagError: a bag cannot be read or written.
        LabelFileError: a line lies outside of the bag.
    """
    chosen = _covered(source, topic, spans, relative, reach)
    names = {topic.name for topic in source.topics}
    read = source.decoder(topic)
    index = -1
    with BagWriter(target, storage) as bag:
        for connection, time, data in source.raw(names):
            bag.copy(connection, source.types, time, data)
            if connection.topic != topic.name:
                continue
            index += 1
            if index in chosen:
                stamp = stamp_of(getattr(read(data, time), 'header', None)) or time
                # At the same time: behind the message it is about, before the next one.
                bag.write_annotation(
                    _annotation(stamp, chosen[index], annotator), time, ANNOTATIONS_TOPIC)
    return len(chosen)


def _header(path: Path, row: Sequence[str]) -> list[str]:
    names = [name.strip().lower().replace('time', 'start') for name in row]
    unknown = [name for name in names if name not in _COLUMNS]
    if unknown or 'start' not in names or 'labels' not in names or len(set(names)) < len(names):
        raise LabelFileError(
            f'{path}:1: the header is {",".join(row)!r}; expected start (or time) and labels, '
            'and optionally end, absent, complete')
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


def _covered(
    source: BagReader, topic: BagTopic, spans: Sequence[LabelSpan], relative: bool, reach: float
) -> dict[int, list[LabelSpan]]:
    """Return the spans that cover each message of the topic, by the message's number."""
    times = [time for _, time, _ in source.raw({topic.name})]
    if not times:
        raise BagError(f'{source.path}: topic {topic.name} has no messages to annotate')
    origin = source.start if relative else 0
    covered: dict[int, list[LabelSpan]] = {}
    for span in spans:
        start = origin + span.start
        if span.end is None:
            numbers = [_nearest(times, start, reach, span, source)]
        else:
            first = bisect_left(times, start)
            numbers = list(range(first, bisect_left(times, origin + span.end + 1)))
        if not numbers:
            raise LabelFileError(
                f'line {span.line}: no message of {topic.name} lies in its span; '
                f'{_extent(source, relative)}')
        for number in numbers:
            covered.setdefault(number, []).append(span)
    return covered


def _nearest(
    times: Sequence[int], time: int, reach: float, span: LabelSpan, source: BagReader
) -> int:
    place = bisect_left(times, time)
    near = min(range(max(0, place - 1), min(len(times), place + 1)),
               key=lambda number: abs(times[number] - time))
    if abs(times[near] - time) > reach * NANOSECONDS:
        raise LabelFileError(
            f'line {span.line}: the nearest message is {abs(times[near] - time) / NANOSECONDS:.3f}'
            f' s away, more than {reach:g} s; {_extent(source, True)}')
    return near


def _annotation(stamp: int, spans: Sequence[LabelSpan], annotator: str) -> Annotation:
    labels = tuple(dict.fromkeys(name for span in spans for name in span.labels))
    absent = dict.fromkeys(name for span in spans for name in span.absent)
    return Annotation(
        stamp, labels, tuple(name for name in absent if name not in labels),
        all(span.complete for span in spans), annotator=annotator)


def _extent(source: BagReader, relative: bool) -> str:
    if relative:
        return f'the bag lasts {(source.end - source.start) / NANOSECONDS:.3f} s'
    return (f'the bag goes from {source.start / NANOSECONDS:.3f} '
            f'to {source.end / NANOSECONDS:.3f}')
