# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Is it good yet? A beginner's next step, what the model would get right, rolling figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from proemlc_ros.records import Annotation, LabelState, StampedPrediction, TaughtSample

# Annotations that "lately" means.
RECENT = 50
# Samples below which it is too early to tell how good the model is, of all and of one label.
EARLY = 8
FEW = 5
# Share of right samples from which a label needs no more.
GOOD = 0.85
# Samples of a burst from which they count as near copies of each other, on average.
COPIES = 3
# Confusions that are told of, and names in a row.
MOST_CONFUSIONS, MOST_NAMES = 20, 5


def was_right(predicted: Sequence[str], annotation: Annotation) -> bool:
    """Return whether a prediction was what an operator then said.

    What they left open counts as right.

    >>> was_right(('cup',), Annotation(0, ('cup',))), was_right(('cup', 'red'), Annotation(0, ()))
    (True, False)
    """
    present, seen = set(annotation.labels), set(predicted)
    absent = seen - present if annotation.complete else seen & set(annotation.absent)
    return not (present - seen or absent)


@dataclass(slots=True)
class LearningCurve:
    """Hamming loss against the number of samples learnt, with the introductions of labels.

    Bounded: when full, every second point of the older half goes, so that a long run keeps its
    shape and its newest detail.
    """

    max_points: int = 400
    points: list[tuple[int, float]] = field(default_factory=list)
    introductions: list[tuple[int, str]] = field(default_factory=list)
    known: set[str] | None = None

    def add_loss(self, samples: int, loss: float) -> bool:
        """Add a point; return whether the curve changed."""
        if self.points and samples < self.points[-1][0]:
            # An undo or another model took samples back: those points are no longer true.
            self.points = [point for point in self.points if point[0] <= samples]
        if self.points and self.points[-1] == (samples, loss):
            return False
        if self.points and self.points[-1][0] == samples:
            self.points.pop()
        self.points.append((samples, loss))
        if len(self.points) > self.max_points:
            half = self.max_points // 2
            self.points[:half] = self.points[:half:2]
        return True

    def note_labels(self, names: Sequence[str], samples: int) -> bool:
        """Mark the labels that are new since the last call; those of the first call are not.

        Returns:
            Whether the labels changed.
        """
        current = set(names)
        if current == self.known:
            return False
        if self.known is not None:
            self.introductions += [(samples, name) for name in names if name not in self.known]
        self.known = current
        self.introductions = [
            mark for mark in self.introductions if mark[1] in current][-self.max_points:]
        return True


# Samples of a label, and of the empty place, from which a beginner goes on to the next step.
ENOUGH, EMPTY_ENOUGH = 4, 3


def next_step(labels: LabelState, seen: StampedPrediction | None) -> str:
    """Return what somebody who teaches the first labels does next; empty: they know how.

    >>> next_step(LabelState(), None)
    'Show a thing, type its name, hold Enter.'
    """
    names, counts = labels.names, labels.counts
    if not names:
        return 'Show a thing, type its name, hold Enter.'
    if len(names) > 2:
        return ''
    newest = names[-1]
    if counts[-1] < ENOUGH:
        return f'Show {newest} again from other sides: hold {len(names)}.'
    # Of one label alone; with two, a sample may show both.
    if labels.samples - max(counts) < EMPTY_ENOUGH and len(names) == 1:
        knows = 'It knows' if seen is not None and newest in seen.predicted else 'It learns'
        return f'{knows} {newest}. Now show the empty place: hold 0.'
    if len(names) == 1:
        return 'Now show a second thing, type its name, hold Enter.'
    return f'It knows {names[0]} and {newest}. Teach more things the same way.'


class LabelTruth(NamedTuple):
    """How a label does on samples that are left out of the model.

    Args:
        right: samples with the label for which it would be predicted.
        of: samples with the label.
        taught: samples with the label that were taught; one alone cannot be left out.
        taken_for: labels that they are taken for instead, with the samples of each mistake.
        views: bursts, and samples outside of them, that show the label.
    """

    right: int
    of: int
    taught: int
    taken_for: dict[str, list[TaughtSample]]
    views: int = 0


class _Confusion(NamedTuple):
    """Samples of a label that are taken for another one.

    Args:
        label: that was taught.
        other: that they are taken for.
        times: how many.
        mistaken: one of them that has a picture; None: none has.
        beside: the sample of the other label that is nearest to being taken for this one.
    """

    label: str
    other: str
    times: int
    mistaken: TaughtSample | None
    beside: TaughtSample | None


class Truth(NamedTuple):
    """What the model would get right of pictures like those taught, each left out in turn.

    Args:
        right: samples that the others would label exactly as taught.
        of: samples.
        labels: the same by label.
        silence: samples taught as none of the labels that would stay without, and all of them.
        views: bursts, and samples outside of them.
        confusions: the most frequent first.
    """

    right: int = 0
    of: int = 0
    labels: dict[str, LabelTruth] = {}
    silence: tuple[int, int] = (0, 0)
    views: int = 0
    confusions: tuple[_Confusion, ...] = ()

    @classmethod
    def of_labels(cls, labels: LabelState, samples: Sequence[TaughtSample],
                  bursts: Mapping[int, str] = MappingProxyType({})) -> Truth:
        """Return the truth that a classifier publishes, with its mistakes among samples.

        Args:
            labels: as published.
            samples: of the model, the most doubtful first.
            bursts: by the number of a sample, the burst that it is of.
        """
        if not labels.judged:
            return cls()
        mistakes = _mistakes(samples)
        silent = [not one.expected for one in samples
                  if one.annotation.complete and not one.annotation.labels]
        # Not of some of them alone: a list has its bound.
        views = _views(samples, bursts) if len(samples) >= labels.samples else {}
        return cls(_whole(labels.right, labels.judged), labels.judged, {
            name: LabelTruth(_whole(recall, of), of, taught, mistakes.get(name, {}),
                             len(views.get(name, ())))
            for name, of, recall, taught in zip(labels.names, labels.judged_counts,
                                                labels.recalls, labels.counts)},
            (sum(silent), len(silent)), len(set().union(*views.values())),
            _confusions(samples, mistakes))

    @property
    def sentence(self) -> str:
        """The truth for people; empty where it is too early to tell.

        >>> Truth(45, 50, {}).sentence
        'Would be right on 9 of 10 pictures like those taught.'
        """
        if self.of < EARLY:
            return ''
        tenths = 10 * self.right / self.of
        if self.right == self.of:
            return f'Would be right on all {self.of} pictures taught, each left out in turn.'
        shown = int(tenths) if tenths >= 9 else round(tenths)
        return f'Would be right on {shown} of 10 pictures like those taught.'

    @property
    def caution(self) -> str:
        """How far the sentence holds, where samples are near copies of each other; else empty.

        >>> Truth(45, 50, {}, views=3).caution
        'They are of 3 recordings, alike within each: expect less of new views.'
        """
        if self.of < EARLY or not 0 < self.views * COPIES <= self.of:
            return ''
        which = ('one recording' if self.views == 1
                 else f'{self.views} recordings, alike within each')
        return f'They are of {which}: expect less of new views.'

    @property
    def needs_more(self) -> list[str]:
        """What to teach next and from which views: the worst labels first, one sentence each."""
        worst = sorted((truth.right / max(truth.of, 1), name)
                       for name, truth in self.labels.items()
                       if truth.taught < FEW or truth.right < GOOD * truth.of)
        alike = [name for name, truth in self.labels.items()
                 if truth.views == 1 and truth.taught >= FEW]
        return [_advice(name, self.labels[name]) for _, name in worst] + (
            [f'{_in_words(alike)}: one recording{" each" if len(alike) > 1 else ""}. Record again '
             'in another place, other light, from farther away.'] if alike else [])


def _whole(share: float, of: int) -> int:
    """Return how many a share is, as float32 leaves it; another node may publish anything."""
    return math.floor(min(max(share, 0.0), 1.0) * of + 1e-3) if math.isfinite(share) else 0


def _mistakes(samples: Iterable[TaughtSample]) -> dict[str, dict[str, list[TaughtSample]]]:
    """Return by label what its samples are taken for, each left out, and which they are."""
    found: dict[str, dict[str, list[TaughtSample]]] = {}
    for sample in samples:
        said, expected = set(sample.annotation.labels), set(sample.expected)
        if math.isnan(sample.doubt):
            continue
        if not sample.annotation.complete:
            expected &= said | set(sample.annotation.absent)
        for name in said:
            for other in expected - said:
                found.setdefault(name, {}).setdefault(other, []).append(sample)
    return found


def _views(samples: Iterable[TaughtSample],
           bursts: Mapping[int, str]) -> dict[str, set[str | int]]:
    """Return by label, empty for none of them, its bursts and the samples outside of them."""
    found: dict[str, set[str | int]] = {}
    for sample in samples:
        for name in sample.annotation.labels or ('',):
            found.setdefault(name, set()).add(bursts.get(sample.number) or sample.number)
    return found


def _confusions(samples: Sequence[TaughtSample],
                mistakes: dict[str, dict[str, list[TaughtSample]]]) -> tuple[_Confusion, ...]:
    pictured = [one for one in samples if one.has_picture]

    def beside(label: str, other: str) -> TaughtSample | None:
        # The most doubtful ones come first; one that is a mistake of another kind tells less.
        return min((one for one in pictured if other in one.annotation.labels
                    and label not in one.annotation.labels), default=None,
                   key=lambda one: not {label, other} & set(one.expected))
    most = sorted(((len(found), name, other) for name, taken in mistakes.items()
                   for other, found in taken.items()), key=lambda one: -one[0])
    return tuple(_Confusion(
        name, other, count,
        next((one for one in mistakes[name][other] if one.has_picture), None),
        beside(name, other)) for count, name, other in most[:MOST_CONFUSIONS])


def _in_words(names: Sequence[str]) -> str:
    """Return names in a row, cut where they are many.

    >>> _in_words(['cup', 'bowl']), _in_words(list('abcdefg'))
    ('cup, bowl', 'a, b, c, d, e and 2 more')
    """
    more = f' and {len(names) - MOST_NAMES} more' if len(names) > MOST_NAMES else ''
    return ', '.join(names[:MOST_NAMES]) + more


def _advice(name: str, truth: LabelTruth) -> str:
    if truth.taught < FEW:
        return f'{name} needs more: {truth.taught} of at least {FEW} samples.'
    if truth.taken_for:
        other = max(truth.taken_for, key=lambda label: len(truth.taken_for[label]))
        return f'{name} is taken for {other}: show both from the sides on which they look alike.'
    return f'{name} is missed: show it farther away, turned, and in other light.'
