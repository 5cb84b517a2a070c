# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model learnt again with the features of another extractor, made from the kept pictures.

In the journal that is a reset, followed by the same annotations with their pictures and the new
features, in one transaction: a crash leaves the one model or the other. Two undos take it back.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from proemlc_ros.classifier.durable_model import DurableModel
from proemlc_ros.classifier.following import accepted_labels
from proemlc_ros.errors import ProEMLCError, SampleError
from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.records import Annotation, ClientRequest, Event, EventKind, Picture, Vector


class Embedding(NamedTuple):
    """Another extractor: its name, and what makes features of a compressed picture."""

    extractor: str
    vector: Callable[[str, bytes], Vector]


class ReembeddedModel(NamedTuple):
    """How many samples were learnt again, and how many were left out."""

    samples: int
    left_out: int


class Reembedding:
    """Makes the features of a model's samples again, first without holding it up.

    Args:
        durable: the model.
        embedding: the new extractor.
    """

    def __init__(self, durable: DurableModel, embedding: Embedding) -> None:
        self._durable = durable
        self._embedding = embedding
        self._vectors: dict[int, Vector] = {}

    def prepare(self) -> None:
        """Make the features of all samples that there are; the model may learn meanwhile.

        Raises:
            JournalError: the journal cannot be read.
        """
        durable = self._durable
        entries = durable.journal.pictures()
        for number in durable.reading().samples:
            if number in entries and number not in self._vectors:
                picture = durable.journal.picture(entries[number])
                if picture is not None:
                    self._embed(number, picture)

    def apply(self, annotator: str) -> ReembeddedModel:
        """Replace the model by one that has learnt the same samples with the new features.

        Raises:
            SampleError: no sample has a usable picture; nothing changed.
            JournalError, OSError: nothing changed.
        """
        durable = self._durable
        with durable.lock:
            durable.catch_up()
            self.prepare()  # Of those that came meanwhile.
            samples = durable.reading().samples
            chosen = [number for number in samples if number in self._vectors]
            if not chosen:
                raise SampleError(f'none of {len(samples)} samples has a picture that features '
                                  'could be made from; pictures are kept with keep_pictures')
            annotations = self._annotations(samples, chosen)
            learner = durable.model.fitted(durable.new_learner(), self._embedding.extractor)
            learner.learn(np.array([one.matched_features for one in annotations]),
                          [accepted_labels(one) for one in annotations])
            durable.keep_before_reset()
            table = durable.table.copy().follow(self._written(annotations, chosen, annotator))
            durable.model.replace(learner)
            durable.go_on_with(table, learner, rebased=True)
            return ReembeddedModel(len(chosen), len(samples) - len(chosen))

    def _embed(self, number: int, picture: Picture) -> None:
        try:
            self._vectors[number] = self._embedding.vector(picture.format, picture.data)
        except ProEMLCError:
            return  # A broken picture; the sample is left out.

    def _annotations(self, samples: dict[int, Annotation], chosen: list[int]) -> list[Annotation]:
        group = f'burst:{secrets.token_hex(6)}'
        return [samples[number]._replace(
            features=self._vectors[number], extractor=self._embedding.extractor,
            request=ClientRequest(f'{group}:{place}', ''))
            for place, number in enumerate(chosen)]

    def _written(self, annotations: list[Annotation], chosen: list[int],
                 annotator: str) -> list[JournalEntry]:
        journal, entries = self._durable.journal, self._durable.journal.pictures()
        records: list[Annotation | Event] = [
            Event(EventKind.RESET, self._durable.clock(), annotator=annotator), *annotations]
        references = ['', *(one.request.reference for one in annotations if one.request)]
        pictures = [None, *(journal.picture(entries[number]) for number in chosen)]
        return journal.write(records, references, pictures)
