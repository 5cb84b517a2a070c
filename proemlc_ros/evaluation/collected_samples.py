# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The samples of bags and journals together in memory, where all of them decide on a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.classifier.following import accepted_labels
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.options import Options
from proemlc_ros.core.selection import Selection
from proemlc_ros.core.selection.renewal import plan_for, renewed
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation.annotation_stream import AnnotationStream
from proemlc_ros.evaluation.bag_steps import BagSet, BagSteps
from proemlc_ros.records import Annotation


@dataclass
class CollectedSamples:
    """Annotations with their features, of all bags in turn.

    Attributes:
        annotations: In the order in which they came.
        extractor: What made the features; empty: not stated.
        rejects: Numbers of what was rejected, by cause.
        notes: Defects of the bags.

    """

    annotations: list[Annotation] = field(default_factory=list)
    extractor: str = ''
    rejects: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, bags: BagSet) -> CollectedSamples:
        """Collect the samples of bags; of a journal, those in force, with their labels now.

        Raises:
            BagError: A bag cannot be read, or there is nothing to learn.

        """
        samples = cls()
        for path in bags.paths:
            samples._add(bags, path)
        if not samples.annotations:
            causes = ', '.join(f'{count} {cause}' for cause, count in samples.rejects.items())
            raise BagError('the bags have no annotations that can be learnt; rejected: '
                           f'{causes or "none"}')
        return samples

    def arguments(self) -> dict[str, Any]:
        """Return the samples as the learner takes them."""
        return {'X': np.array([said.matched_features for said in self.annotations]),
                'labels': [accepted_labels(said) for said in self.annotations]}

    def selection(self, most: int) -> Selection:
        """Return the settings that suit the samples, of at most so many hidden neurons."""
        given = self.arguments()
        return plan_for(given['X'], given['labels'], most=most).selection

    def model(self, settings: dict[str, Any], most: int) -> ProEMLC:
        """Return the model that all samples decide on; see core/selection/renewal.py.

        Args:
            settings: Of which threshold, dtype and seed are kept.
            most: Hidden neurons at most.

        """
        model = renewed(**self.arguments(), kept=Options.from_dict(settings), most=most)
        model.extra['extractor'] = self.extractor
        return model

    def _add(self, bags: BagSet, path: Path) -> None:
        stream = AnnotationStream(bags.rules)
        stream.expected.extractor = self.extractor
        reading = BagSteps(bags, path, stream, as_it_stands=True)
        blocks = list(reading.annotation_blocks())
        self.notes += reading.notes
        self.annotations += chain.from_iterable(block.annotations() for block in blocks)
        self.rejects.update(stream.rejects)
        self.extractor = self.extractor or stream.expected.extractor
