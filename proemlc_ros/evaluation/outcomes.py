# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How predictions fared against what was said about them, sample by sample.

Only labels that were decided upon count: for a complete annotation all that are known or named,
for another one those it names, as in the node's rolling loss.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from proemlc_ros.teaching.moments import Annotation

from .curve import LossCurve


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


class OutcomeTally:
    """Adds up outcomes in memory that depends on the number of labels alone."""

    def __init__(self) -> None:
        """Begin without samples."""
        self.labels: dict[str, LabelTally] = {}
        self.curve = LossCurve()
        self._exact = 0
        self._sums = {'accuracy': 0.0, 'precision': 0.0, 'recall': 0.0, 'f1': 0.0}

    @property
    def samples(self) -> int:
        """Number of annotations compared."""
        return self.curve.samples

    def add(
        self, predicted: Collection[str], said: Annotation, known: Collection[str], time: int
    ) -> None:
        """Compare a prediction with the annotation that came after it.

        Args:
            predicted: Names that were predicted.
            said: The annotation.
            known: Names that were known when the prediction was made; a dict or set.
            time: When the annotation was recorded, in nanoseconds.

        """
        present, guessed = set(said.labels), set(predicted)
        if said.complete:
            decided = len(known) + sum(
                name not in known for name in (*said.labels, *said.absent))
        else:
            decided = len(present.union(said.absent))
            guessed &= present.union(said.absent)
        hits = present & guessed
        misses, alarms = present - hits, guessed - hits
        self.curve.add(len(misses) + len(alarms), decided)
        self._count_labels(hits, misses, alarms, time)
        self._count_sample(len(hits), len(present), len(guessed))

    def metrics(self) -> dict[str, float]:
        """Return the measures by name; empty before the first sample."""
        if not self.samples:
            return {}
        tallies = [tally for tally in self.labels.values() if tally.support]
        hits = sum(tally.hits for tally in tallies)
        wrong = sum(t.false_alarms + t.misses for t in self.labels.values())
        averages = {name: total / self.samples for name, total in self._sums.items()}
        return {
            'hamming': self.curve.loss or 0.0,
            'subset_accuracy': self._exact / self.samples,
            **averages,
            'micro_f1': 2 * hits / max(1, 2 * hits + wrong),
            'macro_f1': sum(tally.f1 for tally in tallies) / max(1, len(tallies)),
        }

    def _count_labels(
        self, hits: set[str], misses: set[str], alarms: set[str], time: int
    ) -> None:
        for name in alarms:
            self._tally(name).false_alarms += 1
        for name in hits:
            self._shown(name, time).hits += 1
        for name in misses:
            tally = self._shown(name, time)
            tally.misses += 1
            for other in alarms:
                tally.mistaken_for[other] = tally.mistaken_for.get(other, 0) + 1

    def _count_sample(self, hits: int, present: int, guessed: int) -> None:
        """Add the example-based measures; where there is nothing to find, finding it is right."""
        either = present + guessed - hits
        self._exact += hits == either
        self._sums['accuracy'] += hits / either if either else 1.0
        self._sums['precision'] += hits / guessed if guessed else float(not present)
        self._sums['recall'] += hits / present if present else float(not guessed)
        self._sums['f1'] += 2 * hits / (present + guessed) if either else 1.0

    def _shown(self, name: str, time: int) -> LabelTally:
        tally = self._tally(name)
        if not tally.first_sample:
            tally.first_sample, tally.first_time = self.samples, time
        return tally

    def _tally(self, name: str) -> LabelTally:
        tally = self.labels.get(name)
        if tally is None:
            tally = self.labels[name] = LabelTally(name)
        return tally
