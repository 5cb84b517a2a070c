# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The door: checks what comes in and brings annotations and features together.

A live node and the evaluation of a bag let their messages in through this same door.
"""

from __future__ import annotations

from collections.abc import Collection

from proemlc_ros.classifier.limits import Limits, check_extractor
from proemlc_ros.classifier.matching import Answer, MatchingRules, StampMatcher
from proemlc_ros.classifier.records import Annotation, StampedVector
from proemlc_ros.errors import RejectedError


class Validation:
    """Limits, width and extractor checks in front of a stamp matcher.

    Args:
        limits: bounds on what messages may bring.
        rules: how annotations find their feature vectors.
        width: values of a vector; None lets the first vector decide.
        extractor: what made the vectors that were learnt; empty where not known.
    """

    def __init__(self, limits: Limits | None = None, rules: MatchingRules | None = None,
                 width: int | None = None, extractor: str = '') -> None:
        self.limits = limits or Limits()
        self.matcher = StampMatcher(rules)
        self.width = width
        self.extractor = extractor

    def check(self, moment: StampedVector) -> None:
        """Refuse a vector that the model cannot take.

        Raises:
            VectorRejectedError: for what is wrong with it.
        """
        self.limits.check_vector(moment.data, self.width)
        check_extractor(moment.extractor, self.extractor)

    def add(self, moment: StampedVector, now: int) -> list[Answer]:
        """Keep a checked vector; the first one fixes the width.

        Args:
            moment: the vector, as it passed `check`.
            now: nanoseconds on the clock of the events.

        Returns:
            The annotations that waited for it.
        """
        if self.width is None:
            self.width = moment.data.size
        return self.matcher.add(moment, now)

    def moment(self, moment: StampedVector, now: int) -> list[Answer]:
        """Check and keep a vector; see `check` and `add`."""
        self.check(moment)
        return self.add(moment, now)

    def annotate(self, annotation: Annotation, known: Collection[str], now: int,
                 ticket: object = None) -> Answer | None:
        """Check an annotation and find its features.

        Args:
            annotation: what was said.
            known: labels that the model knows.
            now: nanoseconds on the clock of the events.
            ticket: comes back with the answer.

        Returns:
            The answer, or None where the annotation waits for its features.

        Raises:
            RejectedError: for what is wrong with it.
        """
        self.limits.check_annotation(annotation, known)
        if annotation.features is not None:
            self.limits.check_vector(annotation.features, self.width)
            check_extractor(annotation.extractor, self.extractor)
        answer = self.matcher.submit(annotation, now, ticket)
        if answer is not None and answer.error is not None:
            raise answer.error
        return answer

    def expire(self, now: int) -> list[Answer]:
        """Settle the annotations whose time is up; call it regularly."""
        return self.matcher.expire(now)

    def restart(self, width: int | None, extractor: str) -> list[Answer]:
        """Begin anew for another model.

        Returns:
            The annotations that waited, refused.
        """
        self.width = width
        self.extractor = extractor
        return self.matcher.clear('model_replaced', 'the model was replaced')


def cause_of(error: Exception) -> str:
    """Return a short key to count an error by."""
    if isinstance(error, RejectedError):
        return error.cause
    name = type(error).__name__.removesuffix('Error')
    return ''.join(f'_{c.lower()}' if c.isupper() else c for c in name).lstrip('_')


def text_of(error: Exception) -> str:
    """Return an error's text; that of a KeyError would come in quotes."""
    return str(error.args[0]) if error.args else type(error).__name__
