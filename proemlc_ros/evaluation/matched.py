# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The annotations of a recording in blocks, each brought together with its features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.bags.sources import find_sources
from proemlc_ros.classifier.validation import ExpectedInput
from proemlc_ros.classifier.versioned_model import extractor_of
from proemlc_ros.core import ProEMLC
from proemlc_ros.evaluation.runs import BagSet
from proemlc_ros.evaluation.steps import AnnotationBlock, Steps


class MatchedAnnotations:
    """The annotations of one recording, by the node's own rules.

    Args:
        recordings: How to read it.
        path: The recording.
        model: Tells the width and extractor that are expected.

    Attributes:
        notes: What is not as it should be with the recording.

    """

    def __init__(self, recordings: BagSet, path: Path, model: ProEMLC) -> None:
        """Open nothing yet."""
        self.notes: list[str] = []
        self._recordings, self._path = recordings, path
        self._rejects: Counter[str] = Counter()
        self._steps = Steps(ExpectedInput(model.width, extractor_of(model)), recordings.rules)

    @property
    def extractor(self) -> str:
        """What made the features, as far as they were read."""
        return self._steps.expected.extractor

    @property
    def rejects(self) -> Counter[str]:
        """Numbers of what was refused so far, by cause."""
        return self._rejects + self._steps.rejects

    def __iter__(self) -> Iterator[AnnotationBlock]:
        """Yield the annotations in the order they can be learnt in."""
        with BagReader(self._path, self._recordings.best_effort) as bag:
            sources = find_sources(bag, self._recordings.choice)
            for step in self._steps.of(sources.stream(bag)):
                if isinstance(step, AnnotationBlock):
                    yield step
            self._rejects.update(sources.rejects)
            self.notes += [f'{self._path.name}: {note}' for note in bag.notes]
