# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of corrections: which events a change of taught samples, labels or steps consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proemlc_ros.classifier.validation import ExpectedInput, validate_names
from proemlc_ros.errors import LabelExistsError, SampleError, UnknownLabelError
from proemlc_ros.journal.table import SampleTable
from proemlc_ros.records import Correction, Event, EventKind

_MOST_CORRECTED = 10_000
Plan = Callable[[SampleTable], list[Event]]
"""Returns the events of a change for a table, or raises where it is not possible."""


class CorrectionPlans:
    """Makes plans; a plan looks at model and journal when it is called.

    Args:
        expected: returns what labels and vectors have to be like.
        gaps: returns the numbers of lost journal entries.
        clock: nanoseconds since the epoch.
    """

    def __init__(self, expected: Callable[[], ExpectedInput],
                 gaps: Callable[[], Sequence[range]], clock: Callable[[], int]) -> None:
        self._expected, self._gaps, self._clock = expected, gaps, clock

    def turn(self, kind: EventKind, numbers: Sequence[int] = (), annotator: str = '',
             mine: bool = False) -> Plan:
        """Return the plan to undo the last steps, or to redo those undone last.

        Args:
            kind: UNDO or REDO.
            numbers: of the steps that are meant, in any order; empty: the next one.
            annotator: who asks.
            mine: whether only steps of that annotator count.

        The plan raises UndoError where these are not the next ones. Steps that it has chosen once
        stay chosen, whatever comes behind them while the change is worked out.
        """
        chosen: list[int] = []

        def plan(table: SampleTable) -> list[Event]:
            if chosen:
                table.require_turnable(kind, chosen)
            else:
                chosen.extend(step.number for step in table.meant(
                    kind, {*numbers}, annotator if mine else None))
            return [Event(kind, self._clock(), sample=number, annotator=annotator)
                    for number in chosen]
        return plan

    def correct(self, corrections: Sequence[Correction], annotator: str = '') -> Plan:
        """Return the plan of corrections; it raises where a sample is gone or a name is bad."""
        def plan(table: SampleTable) -> list[Event]:
            if not 0 < len(corrections) <= _MOST_CORRECTED:
                raise SampleError(f'{len(corrections)} samples are named; give 1 to '
                                  f'{_MOST_CORRECTED}')
            expected, gaps = self._expected(), self._gaps()
            return [self._correction(one, table, expected, gaps, annotator)
                    for one in dict.fromkeys(corrections)]
        return plan

    def _correction(self, correction: Correction, table: SampleTable, expected: ExpectedInput,
                    gaps: Sequence[range], annotator: str) -> Event:
        number, sample = correction.number, table.samples.get(correction.number)
        if sample is None:
            raise SampleError(f'sample {number} is not part of the model (any more)')
        if any(number in gap for gap in gaps):
            raise SampleError(f'sample {number} is part of the model, but its journal entry is '
                              'gone; it cannot be changed any more')
        if correction.delete:
            return Event(EventKind.DELETE, self._clock(), sample=number, annotator=annotator)
        accepted = expected.accept_names(sample._replace(
            labels=correction.labels, absent=correction.absent, complete=correction.complete))
        return Event(EventKind.RELABEL, self._clock(), sample=number, annotator=annotator,
                     labels=accepted.labels, absent=accepted.absent, complete=accepted.complete)

    def change_label(self, kind: EventKind, label: str, new_label: str = '',
                     annotator: str = '') -> Plan:
        """Return the plan to rename, remove or merge a label.

        Args:
            kind: RENAME, REMOVE or MERGE_LABELS.
            label: concerned.
            new_label: its new name, or the label that it becomes part of.
            annotator: who asks.

        The plan raises LabelError where there is no such label, or the name cannot be had.
        """
        def plan(table: SampleTable) -> list[Event]:
            expected, name = self._expected(), new_label
            labels = expected.known
            for known in (label, *([name] if kind is EventKind.MERGE_LABELS else ())):
                if known not in labels:
                    raise UnknownLabelError(f'there is no label {known[:100]!r}')
            if kind is EventKind.MERGE_LABELS and label == name:
                raise UnknownLabelError(f'{label[:100]!r} cannot be merged with itself')
            if kind is EventKind.RENAME:
                name, = validate_names([name], expected.limits)
                if name in labels:
                    raise LabelExistsError(f'label {name!r} exists already')
            return [Event(kind, self._clock(), label, name, annotator=annotator)]
        return plan
