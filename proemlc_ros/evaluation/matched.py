# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The annotations of a recording, each brought together with its features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from proemlc_ros.bags.recording import Recording
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.teaching.intake import Intake, cause_of
from proemlc_ros.teaching.matching import Answer
from proemlc_ros.teaching.moments import Annotation, Moment

from .runs import Recordings

_BLOCK = 256
# Later than any event: settles everything that still waits.
_END = 2**63

Samples = tuple[np.ndarray, list[tuple[str, ...]], list[tuple[str, ...]], list[bool]]


class MatchedAnnotations:
    """The annotations of one recording, each with its features, by the node's own rules.

    Args:
        recordings: How to read it.
        path: The recording.
        model: Tells the width and extractor that are expected.

    """

    def __init__(self, recordings: Recordings, path: Path, model: ProEMLC) -> None:
        """Open nothing yet."""
        self.rejects: Counter[str] = Counter()
        self.notes: list[str] = []
        self._recordings, self._path = recordings, path
        self._intake = Intake(rules=replace(recordings.rules), width=model.width,
                              extractor=str(model.extra.get('extractor', '')))

    @property
    def extractor(self) -> str:
        """What made the features, as far as they were read."""
        return self._intake.extractor

    def __iter__(self) -> Iterator[Annotation]:
        """Yield the annotations in the order they can be learnt in."""
        with Recording(self._path, self._recordings.best_effort) as bag:
            sources = find_sources(bag, self._recordings.choice)
            now = 0
            for now, item in sources.stream(bag):
                if isinstance(item, (Moment, Annotation)):
                    yield from self._taken(item, now)
            yield from self._matched(self._intake.expire(_END))
            self.rejects.update(sources.rejects)
            self.notes += [f'{self._path.name}: {note}' for note in bag.notes]

    def blocks(self) -> Iterator[list[Annotation]]:
        """Yield the annotations in blocks."""
        block: list[Annotation] = []
        for said in self:
            block.append(said)
            if len(block) == _BLOCK:
                yield block
                block = []
        if block:
            yield block

    def _taken(self, item: Moment | Annotation, now: int) -> Iterator[Annotation]:
        intake = self._intake
        yield from self._matched(intake.expire(now))
        try:
            if isinstance(item, Moment):
                answers = intake.moment(item, now)
            else:
                answer = intake.annotate(item, (), now)
                answers = [answer] if answer else []
        except ProEMLCError as error:
            self.rejects[cause_of(error)] += 1
        else:
            yield from self._matched(answers)

    def _matched(self, answers: Iterable[Answer]) -> Iterator[Annotation]:
        for answer in answers:
            if answer.error is not None:
                self.rejects[cause_of(answer.error)] += 1
            else:
                said = answer.annotation
                self._intake.extractor = self._intake.extractor or said.extractor
                yield said


def samples_of(block: list[Annotation]) -> Samples:
    """Return a block as the learner takes it: rows, labels, absent, complete."""
    return (np.stack([said.features for said in block]), [said.labels for said in block],
            [said.absent for said in block], [said.complete for said in block])
