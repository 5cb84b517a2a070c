# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The operators' look at what was taught: the classifier's services for it."""

from __future__ import annotations

import math
from typing import Any

from rclpy.client import Client

from proemlc_ros.errors import OperatorRequestError
from proemlc_ros.nodes.operator.classifier_client import ClassifierClient
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.review import (
    ORDERS,
    FileLine,
    HistoryLine,
    HistoryList,
    SampleCard,
    SampleChoice,
    SampleList,
)
from proemlc_ros.srv import (
    ChangeSamples,
    GetSample,
    ListHistory,
    ListModels,
    ListSamples,
    MergeLabels,
    Reembed,
    UndoChange,
)


class OperatorReview:
    """Calls the services; see operator.review for what each does.

    Args:
        classifier: calls them.
    """

    def __init__(self, classifier: ClassifierClient) -> None:
        self._classifier = classifier
        client = classifier.of
        self._samples = client(ListSamples, 'list_samples')
        self._sample = client(GetSample, 'get_sample')
        self._change = client(ChangeSamples, 'change_samples')
        self._merge = client(MergeLabels, 'merge_labels')
        self._undo = client(UndoChange, 'undo_change')
        self._redo = client(UndoChange, 'redo_change')
        self._history = client(ListHistory, 'list_history')
        self._models = client(ListModels, 'list_models')
        self._reembed = client(Reembed, 'reembed')

    async def samples(self, choice: SampleChoice) -> SampleList:
        """Return a page of the learnt samples."""
        response = await self._read(self._samples, ListSamples.Request(
            label=choice.label, annotator=choice.who or '', by_annotator=choice.who is not None,
            order=ORDERS.index(choice.order), offset=min(choice.offset, 2**32 - 1),
            limit=choice.limit))
        return SampleList(response.total, [_card(sample) for sample in response.samples],
                          list(response.annotators))

    async def picture(self, number: int) -> bytes | None:
        """Return the picture of a sample as a JPEG; None where there is none."""
        response = await self._classifier.call(self._sample, GetSample.Request(sample=number))
        if not response.success or response.format != 'jpeg':
            return None
        return bytes(response.picture)

    async def change_samples(self, who: str, numbers: list[int], labels: tuple[str, ...],
                             remove: bool) -> ActionResult:
        """Give samples other labels, or delete them."""
        return await self._classifier.act(self._change, ChangeSamples.Request(
            samples=numbers, labels=list(labels), remove=remove, annotator=who))

    async def merge_labels(self, who: str, label: str, into: str) -> ActionResult:
        """Make one label part of another."""
        return await self._classifier.act(
            self._merge, MergeLabels.Request(label=label, into=into, annotator=who))

    async def turn(self, who: str, undo: bool, steps: list[int], mine: bool) -> ActionResult:
        """Undo steps, or make them again; only if these are the next ones."""
        return await self._classifier.act(self._undo if undo else self._redo, UndoChange.Request(
            steps=steps, mine=mine, annotator=who))

    async def history(self, who: str, mine: bool, offset: int, limit: int) -> HistoryList:
        """Return a page of the history."""
        response = await self._read(self._history, ListHistory.Request(
            mine=mine, annotator=who, offset=min(offset, 2**32 - 1), limit=limit))
        return HistoryList(response.total, *(
            [_line(step) for step in steps]
            for steps in (response.steps, response.next_undo, response.next_redo)))

    async def models(self) -> list[FileLine]:
        """Return the files that can be loaded, the last changed first."""
        response = await self._read(self._models, ListModels.Request())
        return [FileLine(file.name, file.size, _seconds(file.time)) for file in response.files]

    async def reembed(self, who: str, sensors_file: str) -> ActionResult:
        """Make all features again from the kept pictures, with another extractor."""
        return await self._classifier.act(
            self._reembed, Reembed.Request(sensors_file=sensors_file, annotator=who))

    async def _read(self, client: Client, request: Any) -> Any:
        response = await self._classifier.call(client, request)
        if not response.success:
            raise OperatorRequestError(response.message)
        return response


def _card(sample: Any) -> SampleCard:
    return SampleCard(
        sample.number, _seconds(sample.taught), tuple(sample.labels), tuple(sample.absent),
        bool(sample.complete), sample.annotator, bool(sample.has_picture),
        None if math.isnan(sample.doubt) else round(float(sample.doubt), 3),
        sample.doubtful_label, tuple(sample.expected))


def _line(step: Any) -> HistoryLine:
    return HistoryLine(step.number, _seconds(step.time), step.text, step.annotator, step.sample,
                       bool(step.undone), step.group)


def _seconds(time: Any) -> float:
    return float(time.sec) + 1e-9 * float(time.nanosec)
