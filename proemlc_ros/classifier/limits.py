# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a message may contain; checked at the door, before anything is stored or learnt."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from proemlc_ros.classifier.records import Annotation, Vector
from proemlc_ros.errors import (
    LabelRejectedError,
    RateExceededError,
    VectorRejectedError,
)

# Unicode categories without a visible form: control, format, surrogate, private, line/paragraph.
_INVISIBLE = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'})
# Joiners are category Cf, yet spell words in several scripts and emoji.
_JOINERS = '\u200c\u200d'


@dataclass(slots=True)
class Limits:
    """Bounds on what messages may bring; may be changed while running.

    Args:
        max_labels: labels that the model may know.
        max_label_length: characters of a label's name.
        max_width: values of a feature vector.
    """

    max_labels: int = 1000
    max_label_length: int = 100
    max_width: int = 100_000

    def check_vector(self, data: Vector, width: int | None) -> None:
        """Refuse a vector that cannot be used.

        Args:
            data: the values, shape (d,).
            width: the number of values that the model expects, None before it is fixed.

        Raises:
            VectorRejectedError: empty, oversized, of another width, or not finite.
        """
        size = data.size
        if size == 0:
            raise VectorRejectedError('empty_vector', 'the feature vector is empty')
        if size > self.max_width:
            raise VectorRejectedError(
                'oversized_vector', f'the feature vector has {size} values, more than the '
                f'{self.max_width} that max_width allows')
        if width is not None and size != width:
            raise VectorRejectedError(
                'wrong_width', f'the feature vector has {size} values, the model was made for '
                f'{width}; publish {width} values, or reset the model')
        if np.count_nonzero(np.isfinite(data)) < size:
            index = int(np.flatnonzero(~np.isfinite(data))[0])
            raise VectorRejectedError(
                'not_finite', f'value {index} of the feature vector is {data[index]}')

    def check_annotation(self, annotation: Annotation, known: Collection[str]) -> None:
        """Refuse an annotation whose label names cannot be used.

        Args:
            annotation: what was said.
            known: the labels that the model knows.

        Raises:
            LabelRejectedError: a bad name, a name both present and absent, or too many labels.
        """
        labels, absent = annotation.labels, annotation.absent
        new = len({name for name in labels if name not in known})
        if not new and not absent:
            return  # What is known was checked when it came.
        names = {*labels, *absent}
        if len(names) > self.max_labels:
            raise LabelRejectedError(
                'too_many_labels', f'the annotation names {len(names)} labels, more than the '
                f'{self.max_labels} that max_labels allows')
        for name in names:
            self.check_name(name)
        if absent and (both := set(labels).intersection(absent)):
            raise LabelRejectedError(
                'contradiction', f'label {min(both)!r} is given as present and as absent')
        if new and len(known) + new > self.max_labels:
            raise LabelRejectedError(
                'too_many_labels', f'{new} new labels beside the {len(known)} known ones are '
                f'more than max_labels = {self.max_labels} allows; remove labels or raise it')

    def check_name(self, name: str) -> None:
        """Refuse text that does not make a label.

        Args:
            name: the label's name.

        Raises:
            LabelRejectedError: empty, too long, surrounded by spaces, or not printable.
        """
        if not name or name != name.strip():
            raise LabelRejectedError(
                'bad_label', f'label {name!r} is empty or begins or ends with a space')
        if len(name) > self.max_label_length:
            raise LabelRejectedError(
                'bad_label', f'a label of {len(name)} characters, {name[:20]!r}..., is longer '
                f'than the {self.max_label_length} that max_label_length allows')
        if name.isascii() and name.isprintable():
            return
        for character in name:
            if unicodedata.category(character) in _INVISIBLE and character not in _JOINERS:
                raise LabelRejectedError(
                    'bad_label', f'label {name[:40]!r} has the control or invisible character '
                    f'{character!r}')


def check_extractor(stated: str, learnt: str) -> None:
    """Refuse values made by another extractor than those that were learnt.

    Args:
        stated: the extractor of a message; empty where not stated.
        learnt: the extractor of what was learnt; empty where not known.

    Raises:
        VectorRejectedError: both are stated and differ.
    """
    if stated and learnt and stated != learnt:
        raise VectorRejectedError(
            'extractor_changed', f'the features were made by {stated[:100]!r}, the model has '
            f'learnt from {learnt!r}; use that extractor, or reset or load a model')


class RateLimit:
    """Lets a number of messages a second pass, with a burst of one second's worth.

    Args:
        rate: messages a second; 0 lets everything pass.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._tokens = float('inf')  # Full, whatever rate is set before the first message.
        self._last: int | None = None

    def check(self, now: int, what: str) -> None:
        """Count a message.

        Args:
            now: nanoseconds on any clock.
            what: names the messages in the error.

        Raises:
            RateExceededError: there were too many within the last second.
        """
        if not self.rate:
            return
        burst = max(self.rate, 1.0)
        elapsed = 0 if self._last is None else max(now - self._last, 0) * 1e-9
        self._last = now
        self._tokens = min(self._tokens + elapsed * self.rate, burst)
        if self._tokens < 1.0:
            raise RateExceededError(
                'rate', f'more than {self.rate:g} {what} a second; the rest is dropped')
        self._tokens -= 1.0


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without repetition, in their order."""
    return tuple(dict.fromkeys(names))
