# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's services; those that change the model are answered by the learning thread.

rclpy's own way to answer later, a coroutine, makes its executors poll until the answer is there.
So a callback may return a DeferredResponse, which is sent from another thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.service import Service

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.validation import (
    LONGEST_TOPIC,
    distinct,
    validate_request,
    validate_text,
)
from proemlc_ros.conversions import (
    annotation_of,
    prediction_message,
    stamped_vector_of,
    taught_sample_message,
    vector_of,
)
from proemlc_ros.errors import NotActiveError, ProEMLCError, RejectedError, text_of
from proemlc_ros.journal.entries import ModelStep
from proemlc_ros.msg import HistoryStep, ModelFile
from proemlc_ros.nodes.classifier_topics import ClassifierTopics
from proemlc_ros.nodes.process import InvalidHandle
from proemlc_ros.nodes.ros_messages import SERVICE_QOS, SERVICES, RosMessages
from proemlc_ros.records import (
    ClientRequest,
    Correction,
    EventKind,
    Learnt,
    ModelChange,
    SampleOrder,
    SampleQuery,
)
from proemlc_ros.stamps import NANOSECONDS

if TYPE_CHECKING:
    from proemlc_ros.classifier.resume import Embedding
    from proemlc_ros.classifier.review import Review


class DeferredResponse:
    """Returned by a service callback in place of a response that is not known yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._response: Any = None
        self._send: Callable[[Any], None] | None = None

    def resolve(self, response: Any) -> None:
        """Give the response; from any thread, once."""
        with self._lock:
            self._response = response
            send = self._send
        if send is not None:
            send(response)

    def bind(self, send: Callable[[Any], None]) -> None:
        """Say how to send the response; called by the service."""
        with self._lock:
            self._send = send
            response = self._response
        if response is not None:
            send(response)


def _allow_deferred(service: Service) -> Service:
    """Let the callback of a service return a DeferredResponse.

    Executors hand whatever the callback returns to `send_response`, with the header that names
    the caller; that is where a response that is not there yet is put aside.
    """
    send_now = service.send_response

    def send_late(response: Any, header: Any) -> None:
        with suppress(InvalidHandle):  # The node has ended meanwhile, and its services with it.
            send_now(response, header)

    def send_response(response: Any, header: Any) -> None:
        if isinstance(response, DeferredResponse):
            response.bind(lambda answer: send_late(answer, header))
        else:
            send_now(response, header)

    setattr(service, 'send_response', send_response)  # noqa: B010 - a method, for mypy
    return service


def fill(response: Any, success: bool, message: str) -> Any:
    """Return a response with what every response has."""
    response.success = success
    response.message = message
    return response


def reason(error: BaseException) -> str:
    """Return why something was not done, for people, with the remedy."""
    if isinstance(error, FileNotFoundError):
        return f'{error.filename}: there is no such file'
    if isinstance(error, OSError):
        name = f' {error.filename}' if error.filename else ''
        return (f'cannot write{name}: {error.strerror or error}; check the disk for space and '
                'the folder for write permission')
    if isinstance(error, ProEMLCError):
        return text_of(error)
    return f'internal error: {error!r}'


# Of a list, where the request names none: samples, steps; and at most.
_SAMPLES, _STEPS, _MOST = 100, 50, 1000
# Services that an inactive node rejects.
_WHILE_ACTIVE = {'annotate', 'predict', 'change_sample', 'change_samples', 'merge_labels',
                 'undo_change', 'redo_change', 'reembed'}


class ClassifierServices:
    """Creates the services and answers them; responses have the fields success and message.

    Args:
        node: on which they are created.
        classifier: what they act on; has the bounds.
        topics: publish what was done, and are told of what is rejected.
    """

    def __init__(self, node: Node, classifier: Classifier, topics: ClassifierTopics) -> None:
        self._node = node
        self._classifier = classifier
        self._topics = topics
        self._messages = RosMessages()
        self._callbacks: dict[str, Callable[[Any, Any], Any]] = {
            'list_samples': self._list_samples, 'get_sample': self._get_sample,
            'list_history': self._list_history, 'list_models': self._list_models,
            'undo': self._undo, 'reset': self._reset, 'renew': self._renew,
            'rename_label': self._rename, 'remove_label': self._remove,
            'save_model': self._save, 'load_model': self._load, 'cancel': self._cancel,
            'annotate': self._annotate, 'predict': self._predict,
            'change_sample': self._change_sample, 'change_samples': self._change_samples,
            'merge_labels': self._merge_labels,
            'undo_change': partial(self._turn, EventKind.UNDO),
            'redo_change': partial(self._turn, EventKind.REDO), 'reembed': self._reembed}
        self._services: list[Service] = [
            _allow_deferred(node.create_service(
                SERVICES[name], f'~/{name}', partial(self.answer, name),
                qos_profile=SERVICE_QOS))
            for name in self._callbacks]

    @cached_property
    def _review(self) -> Review:
        """Lists and corrects; made with the first request, since nobody may ever ask."""
        from proemlc_ros.classifier.review import Review

        return Review(self._classifier)

    def destroy(self) -> None:
        """Take the services down."""
        for service in self._services:
            self._node.destroy_service(service)
        if '_review' in vars(self):
            self._review.close()

    def answer(self, name: str, request: Any, response: Any) -> Any:
        """Answer a request that is within its bounds, and reject any other.

        Args:
            name: of the service.
            request: as rclpy gives it, or anything with its fields.
            response: to fill, likewise.

        Returns:
            The response, or a DeferredResponse.
        """
        durable = self._classifier.durable
        try:
            validate_request(request, durable.limits, durable.model.learner.labels)
            if name in _WHILE_ACTIVE and not self._topics.active:
                raise NotActiveError
        except RejectedError as error:
            return self._reject(response, error)
        return self._callbacks[name](request, response)

    def _reject(self, response: Any, error: BaseException) -> Any:
        """Return the response to a request that is not done, and tell everybody."""
        self._topics.reject(error)
        return fill(response, False, reason(error))

    # ----- teaching -----

    def _annotate(self, request: Any, response: Any) -> Any:
        deferred = DeferredResponse()

        def respond(future: Future[Any]) -> None:
            self._topics.publish_learnt(future)
            error = future.exception()
            if error is None:
                learnt: Learnt | ClientRequest = future.result()
                response.label_set_version = learnt.version
                response.entry = learnt.number
                deferred.resolve(fill(response, True, learnt.message))
            else:
                response.label_set_version = self._classifier.durable.model.version
                deferred.resolve(fill(response, False, text_of(error)))
        annotation = annotation_of(request.annotation)
        future: Future[Any] = (
            self._classifier.annotate_once(annotation, request.request_id)
            if request.request_id else self._classifier.annotate(annotation))
        future.add_done_callback(respond)
        return deferred

    def _predict(self, request: Any, response: Any) -> Any:
        vector = stamped_vector_of(request.features)
        try:
            validate_text(request.features.header.frame_id, 'frame_id', LONGEST_TOPIC)
            prediction = self._classifier.predict(vector)
        except ProEMLCError as error:
            return self._reject(response, error)
        response.prediction = prediction_message(
            self._messages, request.features.header, vector, prediction)
        return fill(response, True, '')

    # ----- reading -----

    def _list_samples(self, request: Any, response: Any) -> DeferredResponse:
        def act() -> None:
            page = self._review.gallery.page(SampleQuery(
                request.label, request.annotator if request.by_annotator else None,
                SampleOrder(min(request.order, SampleOrder.NEAREST)), request.offset,
                min(request.limit or _SAMPLES, _MOST), vector_of(request.features)))
            response.total = page.total
            response.samples = [taught_sample_message(self._messages, sample)
                                for sample in page.samples]
            response.annotators = page.annotators
        return self._read(act, response)

    def _get_sample(self, request: Any, response: Any) -> DeferredResponse:
        def act() -> None:
            sample, picture = self._review.gallery.sample(request.sample)
            response.info = taught_sample_message(self._messages, sample)
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
            response.steps = [_history_message(step, undone) for step, undone in page.steps]
            response.next_undo = [_history_message(step, False) for step in page.next_undo]
            response.next_redo = [_history_message(step, True) for step in page.next_redo]
        return self._read(act, response)

    def _list_models(self, request: Any, response: Any) -> DeferredResponse:
        def act() -> None:
            response.files = [_file_message(*file)
                              for file in self._classifier.durable.directory.files()]
        return self._read(act, response)

    def _read(self, act: Callable[[], None], response: Any) -> DeferredResponse:
        """Answer from the reading thread; what cannot be read is no rejected input."""
        deferred = DeferredResponse()

        def respond(done: Future[None]) -> None:
            error = done.exception()  # Whoever waits must be answered.
            deferred.resolve(fill(response, error is None, '' if error is None else reason(error)))
        self._review.read(act).add_done_callback(respond)
        return deferred

    # ----- changes -----

    def _undo(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.undo())

    def _reset(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.reset())

    def _renew(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.renewals.request())

    def _rename(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.rename(
            request.label, request.new_label, request.annotator))

    def _remove(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.remove(request.label, request.annotator))

    def _save(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.save(
            request.file_name, bool(request.keep_existing)))

    def _load(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.load(request.file_name, request.annotator))

    def _cancel(self, request: Any, response: Any) -> Any:
        text = self._classifier.cancel()
        return fill(response, bool(text), f'cancelled: {text}' if text else 'nothing is under way')

    def _change_sample(self, request: Any, response: Any) -> Any:
        """Correct one sample: a name of its own, since DDS security knows no other bounds."""
        if len({*request.samples}) > 1:
            return self._reject(response, RejectedError(
                'several_samples', 'it changes one sample; change_samples changes several'))
        return self._change_samples(request, response)

    def _change_samples(self, request: Any, response: Any) -> DeferredResponse:
        corrections = [
            Correction(number, distinct(request.labels), distinct(request.absent),
                       bool(request.complete), bool(request.remove))
            for number in dict.fromkeys(request.samples)]

        def numbers(made: ModelChange) -> None:
            response.steps = [event.entry for event in made.events]
        return self._respond(
            response, self._review.correct(corrections, request.annotator), numbers)

    def _merge_labels(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._review.merge_labels(
            request.label, request.into, request.annotator))

    def _turn(self, kind: EventKind, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._review.turn(
            kind, list(dict.fromkeys(request.steps)), request.annotator, bool(request.mine)))

    def _reembed(self, request: Any, response: Any) -> DeferredResponse:
        def embedding() -> Embedding:
            # Imported late: it brings all extractors.
            from proemlc_ros.classifier.resume import Embedding
            from proemlc_ros.features.settings import PictureEmbedding

            made = PictureEmbedding.from_file(
                self._classifier.durable.directory.parameter_file(request.sensors_file))
            return Embedding(made.extractor, made.vector)

        def counts(made: ModelChange) -> None:
            response.samples, response.left_out = made.samples, made.left_out
        return self._respond(response, self._review.reembed(
            embedding, request.annotator, bool(request.leave_out)), counts)

    def _respond(self, response: Any, change: Future[ModelChange],
                 complete: Callable[[ModelChange], None] = lambda made: None) -> DeferredResponse:
        """Answer once a change is made, behind the annotations that came before.

        Args:
            response: to fill.
            change: ends in a result or an error; an error is the answer.
            complete: fills further fields.
        """
        deferred = DeferredResponse()

        def respond(future: Future[ModelChange]) -> None:
            error = future.exception()
            if error is not None:
                deferred.resolve(self._reject(response, error))
                return
            made = future.result()
            self._topics.publish_events(made.events)
            complete(made)
            deferred.resolve(fill(response, True, made.message))
        change.add_done_callback(respond)
        return deferred


def _history_message(step: ModelStep, undone: bool) -> HistoryStep:
    """Return the HistoryStep of a step."""
    return HistoryStep(
        number=step.number,
        time=_time(step.time),
        kind=int(step.kind or 0),
        text=step.record.text,
        annotator=step.annotator,
        sample=step.sample,
        undone=undone,
        group=step.group,
    )


def _file_message(name: str, size: int, time: int) -> ModelFile:
    """Return the ModelFile of a file; time: of its last change, in nanoseconds."""
    return ModelFile(name=name, size=size, time=_time(time))


def _time(stamp: int) -> Time:
    return Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)
