# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Adds annotations to a recording from a list of times and labels."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proemlc_ros.bags.label_spans import LabelSpan
from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.topics import BagTopic
from proemlc_ros.bags.writing import ANNOTATIONS_TOPIC, BagWriter
from proemlc_ros.classifier.records import NANOSECONDS, Annotation
from proemlc_ros.errors import BagError, LabelFileError


def annotate_bag(
    source: BagReader, target: str | Path, spans: Sequence[LabelSpan], topic: BagTopic,
    storage: str = 'mcap', relative: bool = True, annotator: str = '', reach: float = 0.5,
) -> int:
    """Copy a recording and put an annotation behind each message that a span covers.

    Args:
        source: The recording.
        target: The folder to make.
        spans: What to say when. A message that several spans cover gets all their labels.
        topic: The messages that the annotations are about.
        storage: 'mcap' or 'sqlite3'.
        relative: Whether times count from the beginning of the recording, or are dates.
        annotator: Who says so.
        reach: Seconds to the nearest message that a moment may be away from it.

    Returns:
        The number of annotations written.

    Raises:
        BagError: The recordings cannot be read or written.
        LabelFileError: A line lies outside of the recording.

    """
    chosen = _covered(source, topic, spans, relative, reach)
    types = {topic.name: topic.type for topic in source.topics}
    read = source.decoder(topic)
    index = -1
    with BagWriter(target, storage) as bag:
        for connection, time, data in source.raw(set(types)):
            bag.copy(connection, source.types, time, data)
            if connection.topic != topic.name:
                continue
            index += 1
            if index in chosen:
                stamp = stamp_of(read(data, time)) or time
                said = _said(stamp, chosen[index], annotator)
                # At the same time: behind the message it is about, before the next one.
                bag.write_annotation(said, time, ANNOTATIONS_TOPIC)
    return len(chosen)


def stamp_of(message: Any) -> int:
    """Return the stamp of any message in nanoseconds; 0 where it has none."""
    stamp = getattr(getattr(message, 'header', None), 'stamp', None)
    return 0 if stamp is None else stamp.sec * NANOSECONDS + stamp.nanosec


def _covered(
    source: BagReader, topic: BagTopic, spans: Sequence[LabelSpan], relative: bool, reach: float
) -> dict[int, list[LabelSpan]]:
    """Return for each message of the topic that is covered, by number, the spans that do."""
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


def _said(stamp: int, spans: Sequence[LabelSpan], annotator: str) -> Annotation:
    labels = tuple(dict.fromkeys(name for span in spans for name in span.labels))
    absent = dict.fromkeys(name for span in spans for name in span.absent)
    return Annotation(
        stamp, labels, tuple(name for name in absent if name not in labels),
        all(span.complete for span in spans), annotator=annotator)


def _extent(source: BagReader, relative: bool) -> str:
    if relative:
        return f'the recording lasts {(source.end - source.start) / NANOSECONDS:.3f} s'
    return (f'the recording goes from {source.start / NANOSECONDS:.3f} '
            f'to {source.end / NANOSECONDS:.3f}')
