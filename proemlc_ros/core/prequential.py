# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of a stream in which each sample is predicted before it is learnt (test-then-train).

The classifier node, the evaluation of bags and the demonstration count with this one class. Only
labels that an annotation judges count: a partial annotation leaves the labels unknown that it does
not name, and a label that an annotation introduces counts as missed.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from proemlc_ros.errors import ParameterError

_MOST_POINTS = 1024


class CurvePoint(NamedTuple):
    """The loss of one section of the stream.

    Attributes:
        samples: Number of the section's last sample, from 1.
        loss: Hamming loss of the section.
        loss_so_far: Hamming loss from the first sample to that one.
    """

    samples: int
    loss: float
    loss_so_far: float


class LossCurve:
    """Wrong label decisions over all label decisions, by sections of the stream.

    There are at most 1024 sections: when there are more, neighbours are joined, so that only
    detail is lost.

    >>> curve = LossCurve()
    >>> for wrong in (2, 1, 0, 0):
    ...     curve.add(wrong, 4)
    >>> curve.points()[-1]
    CurvePoint(samples=4, loss=0.0, loss_so_far=0.1875)
    """

    def __init__(self) -> None:
        """Start without samples."""
        self.samples = 0
        self._section_length = 1
        self._sections: list[tuple[int, int]] = []
        # Of the section that is not full yet.
        self._wrong = self._judged = 0

    def add(self, wrong: int, judged: int) -> None:
        """Add a sample: its wrong label decisions, and all of its label decisions."""
        self.add_block((wrong,), (judged,))

    def add_block(self, wrong: Sequence[int], judged: Sequence[int]) -> None:
        """Add samples in order; both arguments have one entry per sample."""
        start = 0
        while start < len(wrong):
            missing = self._section_length - self.samples % self._section_length
            section = slice(start, min(start + missing, len(wrong)))
            self.samples += section.stop - start
            self._wrong += sum(wrong[section])
            self._judged += sum(judged[section])
            if self.samples % self._section_length == 0:
                self._close_section()
            start = section.stop

    def points(self) -> list[CurvePoint]:
        """Return one point per section."""
        points, wrong, judged = [], 0, 0
        sections = list(self._sections)
        if self._judged:
            sections.append((self._wrong, self._judged))
        for number, (more_wrong, more_judged) in enumerate(sections, 1):
            wrong, judged = wrong + more_wrong, judged + more_judged
            points.append(CurvePoint(min(number * self._section_length, self.samples),
                                     more_wrong / max(1, more_judged), wrong / max(1, judged)))
        return points

    def _close_section(self) -> None:
        self._sections.append((self._wrong, self._judged))
        self._wrong = self._judged = 0
        if len(self._sections) == _MOST_POINTS:
            pairs = zip(self._sections[::2], self._sections[1::2], strict=True)
            self._sections = [(a[0] + b[0], a[1] + b[1]) for a, b in pairs]
            self._section_length *= 2


# Comparisons that are remembered, at most.
_REMEMBERED = 4096


class JudgedLabels(NamedTuple):
    """The labels of one sample whose truth is known.

    Attributes:
        names: Their names; None: all labels.
        size: How many they are.
    """

    names: frozenset[str] | None
    size: int

    @classmethod
    def only(cls, names: Iterable[str]) -> JudgedLabels:
        """Judge some labels alone."""
        judged = frozenset(names)
        return cls(judged, len(judged))

    @classmethod
    def by_annotation(cls, present: Iterable[str], absent: Iterable[str], complete: bool,
                      known: Collection[str]) -> JudgedLabels:
        """Return what an annotation judges.

        Args:
            present: Labels that it names as present.
            absent: Labels that it names as absent.
            complete: Whether it judges all other known labels as well.
            known: Labels that were known when the prediction was made.
        """
        named = frozenset((*present, *absent))
        if not complete:
            return cls(named, len(named))
        return cls(None, len(known) + len(named.difference(known)))

    def among(self, names: Iterable[str]) -> Iterable[str]:
        """Return those of the names that are judged."""
        judged = self.names
        return names if judged is None else [name for name in names if name in judged]


@dataclass(slots=True)
class LabelCounts:
    """How one label was predicted.

    Attributes:
        hits: Samples in which it was present and predicted.
        misses: Samples in which it was present, but not predicted.
        false_alarms: Samples in which it was predicted, but absent.
        first_sample: Number of the first sample with it, from 1; 0: none yet.
        first_time: Time of that sample, in nanoseconds.
        mistaken_for: Labels that were wrongly predicted where it was missed, with their numbers.
    """

    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    first_sample: int = 0
    first_time: int = 0
    mistaken_for: dict[str, int] = field(default_factory=dict)

    @property
    def support(self) -> int:
        """Number of samples with the label."""
        return self.hits + self.misses

    @property
    def precision(self) -> float:
        """Share of the predictions that were right; 0 without predictions."""
        return self.hits / max(1, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """Share of the samples with the label that were predicted; 0 without such samples."""
        return self.hits / max(1, self.support)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.hits / max(1, 2 * self.hits + self.false_alarms + self.misses)


class _Comparison(NamedTuple):
    """What one prediction counts for, given the labels that were present."""

    false_alarms: list[LabelCounts]
    hits: list[LabelCounts]
    misses: list[LabelCounts]
    wrong: list[str]
    sizes: tuple[int, int, int]  # hits, labels present, labels predicted

    def add(self, samples: int) -> None:
        """Count that many samples."""
        for counts in self.false_alarms:
            counts.false_alarms += samples
        for counts in self.hits:
            counts.hits += samples
        for counts in self.misses:
            counts.misses += samples
            for other in self.wrong:
                counts.mistaken_for[other] = counts.mistaken_for.get(other, 0) + samples


# Labels predicted and labels present, of those that are judged.
_Pair = tuple[tuple[str, ...], tuple[str, ...]]


class PrequentialMetrics:
    """Multi-label metrics of a stream, in memory that depends on the number of labels alone.

    Args:
        window: Samples that `loss` covers, the latest ones; None: all.

    Attributes:
        labels: Counts by label.
        curve: Hamming loss over the whole stream.

    Raises:
        ParameterError: The window is not an integer of at least 1.

    >>> metrics = PrequentialMetrics()
    >>> metrics.add(['cup'], ['cup', 'red'], JudgedLabels.only(['cup', 'red', 'robot', 'wall']))
    >>> metrics.loss, metrics.values()['recall']
    (0.25, 0.5)
    """

    def __init__(self, window: int | None = None) -> None:
        """Start without samples."""
        if window is not None and (type(window) is not int or window < 1):
            raise ParameterError(f'window is {window!r}; it must be an integer of at least 1')
        self.labels: dict[str, LabelCounts] = defaultdict(LabelCounts)
        self.curve = LossCurve()
        # Wrong and judged labels of each sample in the window, and of all that `loss` covers.
        self._size = window
        self._window: deque[tuple[int, int]] = deque()
        self._wrong = self._judged = 0
        self._comparisons: dict[_Pair, _Comparison] = {}
        # How many samples had so many hits, labels present, and labels predicted.
        self._sizes: Counter[tuple[int, int, int]] = Counter()

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.curve.samples

    @property
    def loss(self) -> float | None:
        """Hamming loss of the window, or of the whole stream; None before the first sample."""
        return self._wrong / self._judged if self._judged else None

    def add(self, predicted: Iterable[str], present: Iterable[str], judged: JudgedLabels,
            time: int = 0) -> None:
        """Compare a prediction with the annotation that came after it.

        Args:
            predicted: Labels that were predicted.
            present: Labels that were present.
            judged: Labels that count.
            time: Time of the annotation, in nanoseconds.
        """
        self.add_block((predicted,), (present,), (judged,), (time,))

    def add_block(self, predicted: Sequence[Iterable[str]], present: Sequence[Iterable[str]],
                  judged: Sequence[JudgedLabels], times: Sequence[int]) -> None:
        """Add samples in order, as `add` does; each argument has one entry per sample."""
        pairs = [(tuple(one.among(said)), tuple(one.among(truth)))
                 for said, truth, one, _ in zip(predicted, present, judged, times, strict=True)]
        wrong = dict[_Pair, int]()
        # Equal comparisons count together, in the order in which each came first.
        for pair, count in Counter(pairs).items():
            found = self._comparisons.get(pair)
            if found is None:
                place = pairs.index(pair)
                found = self._compare(pair, self.samples + 1 + place, times[place])
            found.add(count)
            self._sizes[found.sizes] += count
            wrong[pair] = len(found.misses) + len(found.wrong)
        self._add_losses([wrong[pair] for pair in pairs], [one.size for one in judged])

    def _compare(self, pair: _Pair, number: int, time: int) -> _Comparison:
        """Return what a prediction counts for, and remember it: in a stream many are equal."""
        predicted, present = pair
        # Dictionaries are sets that keep their order, which makes the order of results certain.
        said, truth = dict.fromkeys(predicted), dict.fromkeys(present)
        wrong = [name for name in said if name not in truth]
        false_alarms = [self.labels[name] for name in wrong]
        for counts in (self.labels[name] for name in truth):
            if not counts.first_sample:
                counts.first_sample, counts.first_time = number, time
        hits = [self.labels[name] for name in truth if name in said]
        misses = [self.labels[name] for name in truth if name not in said]
        if len(self._comparisons) >= _REMEMBERED:
            self._comparisons.clear()
        found = _Comparison(false_alarms, hits, misses, wrong,
                            (len(hits), len(truth), len(said)))
        self._comparisons[pair] = found
        return found

    def values(self) -> dict[str, float]:
        """Return the metrics of the whole stream by name; empty before the first sample.

        Macro F1 is the mean over the labels that were present.
        """
        if not self.samples:
            return {}
        hits = sum(counts.hits for counts in self.labels.values())
        wrong = sum(counts.misses + counts.false_alarms for counts in self.labels.values())
        scores = [counts.f1 for counts in self.labels.values() if counts.support]
        return {
            'hamming': self.curve.points()[-1].loss_so_far,
            **self._example_based(),
            'micro_f1': 2 * hits / max(1, 2 * hits + wrong),
            'macro_f1': sum(scores) / max(1, len(scores)),
        }

    def _example_based(self) -> dict[str, float]:
        """Average over samples; a sample without labels, and predicted so, counts as right."""
        sums = dict.fromkeys(('subset_accuracy', 'accuracy', 'precision', 'recall', 'f1'), 0.0)
        for (hits, present, predicted), samples in sorted(self._sizes.items()):
            either = present + predicted - hits
            sums['subset_accuracy'] += samples * (hits == either)
            sums['accuracy'] += samples * (hits / either if either else 1.0)
            sums['precision'] += samples * (hits / predicted if predicted else float(not present))
            sums['recall'] += samples * (hits / present if present else float(not predicted))
            sums['f1'] += samples * (2 * hits / (present + predicted) if either else 1.0)
        return {name: total / self.samples for name, total in sums.items()}

    def _add_losses(self, wrong: list[int], judged: list[int]) -> None:
        self.curve.add_block(wrong, judged)
        self._wrong += sum(wrong)
        self._judged += sum(judged)
        if self._size is None:
            return
        self._window.extend(zip(wrong, judged, strict=True))
        while len(self._window) > self._size:
            oldest_wrong, oldest_judged = self._window.popleft()
            self._wrong -= oldest_wrong
            self._judged -= oldest_judged
