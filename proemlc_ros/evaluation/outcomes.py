# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How predictions fared against what was said about them, block by block.

Only labels that were decided upon count: for a complete annotation all that are known or named,
for another one those it names, as in the node's rolling loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.classifier.records import Annotation
from proemlc_ros.core.labels import indicators
from proemlc_ros.evaluation.curve import LossCurve

# Which labels (columns) in which samples (rows).
Cells = npt.NDArray[np.bool_]


@dataclass
class LabelTally:
    """How one label fared.

    Attributes:
        name: Its name.
        first_sample: Number of the annotation that showed it first, from 1; 0: none yet.
        first_time: When that was recorded, in nanoseconds.
        hits: Present and predicted.
        false_alarms: Predicted, but absent.
        misses: Present, but not predicted.
        mistaken_for: For a miss, the labels that were wrongly predicted instead.

    """

    name: str
    first_sample: int = 0
    first_time: int = 0
    hits: int = 0
    false_alarms: int = 0
    misses: int = 0
    mistaken_for: dict[str, int] = field(default_factory=dict)

    @property
    def support(self) -> int:
        """How many annotations showed it."""
        return self.hits + self.misses

    @property
    def precision(self) -> float:
        """Part of the predictions that were right; 0 without predictions."""
        return self.hits / max(1, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """Part of the appearances that were predicted; 0 without appearances."""
        return self.hits / max(1, self.support)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.hits / max(1, 2 * self.hits + self.false_alarms + self.misses)


class JudgedLabels(NamedTuple):
    """What an annotation decides upon.

    Attributes:
        names: The names that count; None: all.
        decided: How many labels that are.

    """

    names: frozenset[str] | None
    decided: int

    @classmethod
    def of(cls, present: tuple[str, ...], absent: tuple[str, ...], complete: bool,
           known: Collection[str]) -> JudgedLabels:
        """Return what an annotation decides upon when some labels are known."""
        if not complete:
            names = frozenset(present + absent)
            return cls(names, len(names))
        return cls(None, len(known) + len({
            name for name in present + absent if name not in known}))

    def asked(self, predicted: Collection[str]) -> Collection[str]:
        """Return those of the predicted names that count."""
        return predicted if self.names is None else self.names.intersection(predicted)


class OutcomeTally:
    """Adds up outcomes in memory that depends on the number of labels alone.

    What comes out does not depend on how the samples were grouped.
    """

    def __init__(self) -> None:
        """Begin without samples."""
        self.labels: dict[str, LabelTally] = {}
        self.curve = LossCurve()
        # How many samples had so many hits, labels present, and labels predicted.
        self._kinds: Counter[tuple[int, int, int]] = Counter()

    @property
    def samples(self) -> int:
        """Number of annotations compared."""
        return self.curve.samples

    def add(
        self, predicted: Collection[str], said: Annotation, known: Collection[str], time: int
    ) -> None:
        """Compare one prediction with the annotation that came after it.

        Args:
            predicted: Names that were predicted.
            said: The annotation.
            known: Names that were known when the prediction was made; a dict or set.
            time: When the annotation was recorded, in nanoseconds.

        """
        question = JudgedLabels.of(said.labels, said.absent, said.complete, known)
        self.add_all([predicted], [said.labels], [question], [time])

    def add_all(
        self, predicted: Sequence[Collection[str]], present: Sequence[Collection[str]],
        questions: Sequence[JudgedLabels], times: Sequence[int],
    ) -> None:
        """Compare predictions with the annotations that came after them; one entry a sample.

        Args:
            predicted: Names that were predicted.
            present: Names that were there.
            questions: What counts.
            times: When the annotations were recorded, in nanoseconds.

        """
        guessed = [question.asked(names)
                   for names, question in zip(predicted, questions, strict=True)]
        for name in dict.fromkeys(chain(*present, *guessed)):
            if name not in self.labels:
                self.labels[name] = LabelTally(name)
        truth, guess = self._cells(present), self._cells(guessed)
        hits, misses, alarms = truth & guess, truth & ~guess, guess & ~truth
        self._note_first(truth, times)
        self._count_labels(hits, misses, alarms)
        right, there, named = (cells.sum(axis=1) for cells in (hits, truth, guess))
        self._kinds.update(zip(right.tolist(), there.tolist(), named.tolist(), strict=True))
        self.curve.add_all((there + named - 2 * right).tolist(),
                           [question.decided for question in questions])

    def metrics(self) -> dict[str, float]:
        """Return the measures by name; empty before the first sample."""
        if not self.samples:
            return {}
        tallies = [tally for tally in self.labels.values() if tally.support]
        hits = sum(tally.hits for tally in tallies)
        wrong = sum(t.false_alarms + t.misses for t in self.labels.values())
        return {
            'hamming': self.curve.loss or 0.0,
            **self._example_based(),
            'micro_f1': 2 * hits / max(1, 2 * hits + wrong),
            'macro_f1': sum(tally.f1 for tally in tallies) / max(1, len(tallies)),
        }

    def _example_based(self) -> dict[str, float]:
        """Average over samples; where there is nothing to find, finding it is right."""
        sums = dict.fromkeys(('subset_accuracy', 'accuracy', 'precision', 'recall', 'f1'), 0.0)
        for (hits, present, guessed), samples in sorted(self._kinds.items()):
            either = present + guessed - hits
            sums['subset_accuracy'] += samples * (hits == either)
            sums['accuracy'] += samples * (hits / either if either else 1.0)
            sums['precision'] += samples * (hits / guessed if guessed else float(not present))
            sums['recall'] += samples * (hits / present if present else float(not guessed))
            sums['f1'] += samples * (2 * hits / (present + guessed) if either else 1.0)
        return {name: total / self.samples for name, total in sums.items()}

    def _cells(self, named: Sequence[Collection[str]]) -> Cells:
        """Return which labels are named for which sample, (n, labels)."""
        columns = {name: column for column, name in enumerate(self.labels)}
        return indicators(named, columns, len(columns))

    def _note_first(self, truth: Cells, times: Sequence[int]) -> None:
        for tally, appears, place in zip(
                self.labels.values(), truth.any(axis=0).tolist(), truth.argmax(axis=0).tolist(),
                strict=True):
            if appears and not tally.first_sample:
                tally.first_sample, tally.first_time = self.samples + place + 1, times[place]

    def _count_labels(self, hits: Cells, misses: Cells, alarms: Cells) -> None:
        tallies = list(self.labels.values())
        counts = [cells.sum(axis=0).tolist() for cells in (hits, misses, alarms)]
        for tally, right, missed, wrong in zip(tallies, *counts, strict=True):
            tally.hits += right
            tally.misses += missed
            tally.false_alarms += wrong
        # Of each label that was missed, how often each other one was named in that sample.
        confused = misses.any(axis=1) & alarms.any(axis=1)
        both = misses[confused].T.astype(np.float32) @ alarms[confused].astype(np.float32)
        for missed, wrong in np.argwhere(both).tolist():
            instead, name = tallies[missed].mistaken_for, tallies[wrong].name
            instead[name] = instead.get(name, 0) + int(both[missed, wrong])
