# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections of a durable model in one call each, as its services make them in two."""

from __future__ import annotations

from collections.abc import Sequence

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.journal.entries import ModelStep
from proemlc_ros.records import Correction, Event, EventKind


def turn(durable: DurableModel, kind: EventKind, numbers: Sequence[int] = (),
         annotator: str = '', mine: bool = False) -> list[ModelStep]:
    """Undo the last steps, or redo those undone last; return them."""
    events = durable.make(durable.plans.turn(kind, numbers, annotator, mine))
    return [durable.table.steps[event.sample] for event in events]


def correct(durable: DurableModel, corrections: Sequence[Correction],
            annotator: str = '') -> list[Event]:
    """Give samples other labels, or delete them."""
    return durable.make(durable.plans.correct(corrections, annotator))


def merge_labels(durable: DurableModel, label: str, into: str, annotator: str = '') -> Event:
    """Make one label part of another."""
    return _change_label(durable, EventKind.MERGE_LABELS, label, into, annotator)


def rename(durable: DurableModel, label: str, name: str, annotator: str = '') -> Event:
    """Give a label another name."""
    return _change_label(durable, EventKind.RENAME, label, name, annotator)


def remove(durable: DurableModel, label: str, annotator: str = '') -> Event:
    """Forget a label."""
    return _change_label(durable, EventKind.REMOVE, label, '', annotator)


def _change_label(durable: DurableModel, kind: EventKind, label: str, name: str,
                  annotator: str) -> Event:
    event, = durable.make(durable.plans.change_label(kind, label, name, annotator))
    return event
