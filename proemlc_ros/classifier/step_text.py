# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the history in words."""

from __future__ import annotations

from collections.abc import Sequence

from proemlc_ros.classifier.history import Step
from proemlc_ros.classifier.records import Annotation, Event, EventKind
from proemlc_ros.foreign_text import shown, shown_names


def step_text(step: Step) -> str:
    """Return what a step did, such as "taught 'cup'"."""
    record = step.record
    if isinstance(record, Annotation):
        return f'taught {_names(record.labels)}'
    return event_text(record)


def event_text(event: Event) -> str:
    """Return what an event did."""
    words = {
        EventKind.RENAME: lambda: f'renamed {shown(event.label)} to {shown(event.new_label)}',
        EventKind.REMOVE: lambda: f'removed {shown(event.label)}',
        EventKind.RESET: lambda: 'forgot everything',
        EventKind.LOAD: lambda: f'loaded {event.file_name}',
        EventKind.RENEW: lambda: 'renewed the model',
        EventKind.RELABEL: lambda: f'relabelled sample {event.sample} as {_names(event.labels)}',
        EventKind.DELETE: lambda: f'deleted sample {event.sample}',
        EventKind.MERGE_LABELS: lambda: (
            f'merged {shown(event.label)} into {shown(event.new_label)}'),
        EventKind.UNDO: lambda: f'took back entry {event.sample}',
        EventKind.REDO: lambda: f'made entry {event.sample} again',
    }
    return words[event.kind]()


def steps_text(steps: Sequence[Step]) -> str:
    """Return what several steps did."""
    texts = [step_text(step) for step in steps[:3]]
    more = len(steps) - len(texts)
    return ', '.join(texts) + (f' and {more} more' if more > 0 else '')


def _names(labels: Sequence[str]) -> str:
    return shown_names(labels) or 'no label'
