# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the history in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from proemlc_ros.foreign_text import shown, shown_names
from proemlc_ros.journal.table import ModelStep
from proemlc_ros.records import Annotation, Event, EventKind


def step_text(step: ModelStep) -> str:
    """Return what a step did, such as "taught 'cup'"."""
    record = step.record
    if isinstance(record, Annotation):
        return f'taught {_names(record.labels)}'
    return event_text(record)


def event_text(event: Event) -> str:
    """Return what an event did."""
    label, new_label = shown(event.label), shown(event.new_label)
    return {
        EventKind.RENAME: f'renamed {label} to {new_label}',
        EventKind.REMOVE: f'removed {label}',
        EventKind.RESET: 'forgot everything',
        EventKind.LOAD: f'loaded {event.file_name}',
        EventKind.RENEW: 'renewed the model',
        EventKind.RELABEL: f'relabelled sample {event.sample} as {_names(event.labels)}',
        EventKind.DELETE: f'deleted sample {event.sample}',
        EventKind.MERGE_LABELS: f'merged {label} into {new_label}',
        EventKind.UNDO: f'took back entry {event.sample}',
        EventKind.REDO: f'made entry {event.sample} again',
    }[event.kind]


def steps_text(steps: Sequence[ModelStep]) -> str:
    """Return what several steps did, such as "taught 'cup', 30 times" of a burst."""
    runs = [(text, len(list(same))) for text, same in groupby(map(step_text, steps))]
    texts = [text + (f', {count} times' if count > 1 else '') for text, count in runs[:3]]
    more = sum(count for _, count in runs[3:])
    return '; '.join(texts) + (f' and {more} more' if more else '')


def _names(labels: Sequence[str]) -> str:
    return shown_names(labels) or 'no label'
