# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's services for looking through what was taught, and correcting it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.node import Node

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.validation import distinct
from proemlc_ros.errors import NotActiveError
from proemlc_ros.nodes.classifier.answered_services import AnsweredServices, fill, reason
from proemlc_ros.nodes.classifier.deferred import DeferredResponse
from proemlc_ros.nodes.classifier.review_messages import (
    history_step_message,
    learnt_sample_message,
    model_file_message,
)
from proemlc_ros.nodes.classifier.topics import ClassifierTopics
from proemlc_ros.records import Correction, EventKind
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

if TYPE_CHECKING:
    from proemlc_ros.classifier.reembedding import Embedding
    from proemlc_ros.classifier.review import CorrectedModel, Review

_SAMPLES, _STEPS, _MOST = 100, 50, 1000


class ReviewServices(AnsweredServices):
    """Creates the services and answers them.

    Args:
        node: on which they are created.
        classifier: what they act on.
        topics: publish what was done.
    """

    def __init__(self, node: Node, classifier: Classifier, topics: ClassifierTopics) -> None:
        self._classifier = classifier
        super().__init__(node, topics, (
            ('list_samples', ListSamples, self._list_samples),
            ('get_sample', GetSample, self._get_sample),
            ('change_samples', ChangeSamples, self._change_samples),
            ('merge_labels', MergeLabels, self._merge_labels),
            ('undo_change', UndoChange, self._undo),
            ('redo_change', UndoChange, self._redo),
            ('list_history', ListHistory, self._list_history),
            ('list_models', ListModels, self._list_models),
            ('reembed', Reembed, self._reembed),
        ))

    @cached_property
    def _review(self) -> Review:
        """What answers; made with the first request, since nobody may ever ask."""
        from proemlc_ros.classifier.review import Review

        return Review(self._classifier)

    def destroy(self) -> None:
        """Take the services down."""
        super().destroy()
        if '_review' in vars(self):
            self._review.close()

    # ----- reading -----

    def _list_samples(self, request: Any, response: Any) -> DeferredResponse:
        from proemlc_ros.classifier.gallery import SampleOrder, SampleQuery

        def act() -> None:
            page = self._review.gallery.page(SampleQuery(
                request.label, request.annotator if request.by_annotator else None,
                SampleOrder(min(request.order, SampleOrder.DOUBTFUL)), request.offset,
                min(request.limit or _SAMPLES, _MOST)))
            response.total = page.total
            response.samples = [learnt_sample_message(sample)
                                for sample in page.samples]
            response.annotators = page.annotators
        return self._read(act, response)

    def _get_sample(self, request: Any, response: Any) -> DeferredResponse:
        def act() -> None:
            sample, picture = self._review.gallery.sample(request.sample)
            response.info = learnt_sample_message(sample)
            if picture is not None:
                response.format = picture.format
                response.picture = picture.data
        return self._read(act, response)

    def _list_history(self, request: Any, response: Any) -> DeferredResponse:
        def act() -> None:
            page = self._review.history_page(
                request.annotator if request.mine else None, request.offset,
                min(request.limit or _STEPS, _MOST))
            response.total = page.total
            response.steps = [history_step_message(step, undone)
                              for step, undone in page.steps]
            response.next_undo = [history_step_message(step, False) for step in page.next_undo]
            response.next_redo = [history_step_message(step, True) for step in page.next_redo]
        return self._read(act, response)

    def _list_models(self, request: Any, response: Any) -> DeferredResponse:
        def act() -> None:
            response.files = [model_file_message(*file)
                              for file in self._classifier.durable.directory.files()]
        return self._read(act, response)

    def _read(self, act: Callable[[], None], response: Any) -> DeferredResponse:
        """Answer from the reading thread; what cannot be read is no rejected input."""
        def answer() -> Any:
            try:
                act()
            except Exception as error:  # Whoever waits must be answered.
                return fill(response, False, reason(error))
            return fill(response, True, '')
        return self._defer(response, self._review.read(answer), lambda answered: answered)

    # ----- changes -----

    def _change_samples(self, request: Any, response: Any) -> Any:
        corrections = [
            Correction(number, distinct(request.labels), distinct(request.absent),
                       bool(request.complete), bool(request.remove))
            for number in request.samples]

        def numbers(done: CorrectedModel) -> None:
            response.steps = [event.entry for event in done.events]
        return self._respond(
            response, lambda: self._review.correct(corrections, request.annotator), numbers)

    def _merge_labels(self, request: Any, response: Any) -> Any:
        return self._respond(response, lambda: self._review.merge_labels(
            request.label, request.into, request.annotator))

    def _undo(self, request: Any, response: Any) -> Any:
        return self._turn(EventKind.UNDO, request, response)

    def _redo(self, request: Any, response: Any) -> Any:
        return self._turn(EventKind.REDO, request, response)

    def _turn(self, kind: EventKind, request: Any, response: Any) -> Any:
        return self._respond(response, lambda: self._review.turn(
            kind, list(request.steps), request.annotator, bool(request.mine)))

    def _reembed(self, request: Any, response: Any) -> Any:
        def embedding() -> Embedding:
            # Imported late: it brings all extractors.
            from proemlc_ros.classifier.reembedding import Embedding
            from proemlc_ros.features.reembedding import PictureEmbedding

            made = PictureEmbedding.from_file(Path(request.sensors_file).expanduser())
            return Embedding(made.extractor, made.vector)

        def counts(done: CorrectedModel) -> None:
            response.samples, response.left_out = done.samples, done.left_out
        return self._respond(response, lambda: self._review.reembed(
            embedding, request.annotator), counts)

    def _respond(self, response: Any, change: Callable[[], Future[CorrectedModel]],
                 complete: Callable[[CorrectedModel], None] = lambda made: None) -> Any:
        """Answer once a correction is made; `complete` fills further fields."""
        if not self._topics.active:
            return self._reject(response, NotActiveError())

        def done(made: CorrectedModel) -> Any:
            for event in made.events:
                self._topics.publish_event(event)
            complete(made)
            return fill(response, True, made.message)
        return self._defer(response, change(), done)
