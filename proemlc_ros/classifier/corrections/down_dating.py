# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections by a down-date: one sample is unlearnt and learnt otherwise, in milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proemlc_ros.classifier.corrections.history import History
from proemlc_ros.classifier.corrections.relearning import names_of_base
from proemlc_ros.classifier.versioned_model import LARGEST_ERROR, accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import UndoError, UnlearnError
from proemlc_ros.records import Annotation, Event, EventKind, Vector

if TYPE_CHECKING:
    from proemlc_ros.classifier.durability.durable_model import DurableModel

_SAMPLE_CHANGES = (None, EventKind.RELABEL, EventKind.DELETE)


def down_dated(durable: DurableModel, before: History, after: History,
               event: Event) -> ProEMLC:
    """Return a copy of the learner that has unlearnt and learnt what the event changes.

    Raises:
        UnlearnError: the result would not be that of a model taught so from the start.
    """
    step = after.steps.get(event.sample)
    kind = event.kind if event.kind not in (EventKind.UNDO, EventKind.REDO) else (
        step.kind if step is not None else event.kind)
    if kind not in _SAMPLE_CHANGES:
        raise UnlearnError('labels or the whole model change')
    number = step.sample if event.kind in (
        EventKind.UNDO, EventKind.REDO) and step is not None else event.sample
    old, new = before.samples.get(number), after.samples.get(number)
    learner = durable.model.learner.copy()
    # A renewed layer belongs to no sample in particular, and stays.
    drawn = not durable.model.renewed_at and (old is None or new is None)
    _require_order_does_not_matter(learner, before, number, drawn)
    features = _features(durable, number)
    if old is not None:
        learner.unlearn(features, accepted_labels(old), tolerance=LARGEST_ERROR)
    if new is not None:
        learner.learn(features, accepted_labels(new))
    named = {name for sample in after.samples.values() for name in sample.named}
    kept = names_of_base(durable.model.learner, before.samples) | named
    for name in [name for name in learner.labels if name not in kept]:
        learner.remove_label(name)
    return learner


def _features(durable: DurableModel, number: int) -> Vector:
    for entry in durable.model.undo_stack:
        if entry.number == number:
            return entry.annotation.matched_features
    stored = durable.journal.entry(number)
    if stored is None or not isinstance(stored.record, Annotation):
        raise UndoError(f'the features of sample {number} are not in the journal any more')
    return stored.record.matched_features


def _require_order_does_not_matter(learner: ProEMLC, history: History, number: int,
                                   comes_or_goes: bool) -> None:
    """Check that a sample can be unlearnt or learnt as if at its own place.

    Raises:
        UnlearnError: it cannot.
    """
    options, later = learner.options, [other for other in history.samples if other >= number]
    if learner.warming_up:
        if later != [number] or not comes_or_goes:
            raise UnlearnError('the hidden layer is drawn from samples that it is among')
        return
    if comes_or_goes and learner.samples - len(later) < options.warmup_samples:
        raise UnlearnError('the hidden layer was drawn from samples that it is among')
    if options.forgetting < 1.0 and number != max(history.samples, default=0):
        raise UnlearnError('with forgetting, the order of the samples matters')
    if learner.approximate_labels:
        raise UnlearnError('beyond partial_memory the order of incomplete annotations matters')
