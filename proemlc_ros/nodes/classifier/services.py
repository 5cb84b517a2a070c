# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's services; those that change the model are answered by the learning thread."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.conversions import annotation_of, prediction_message, stamped_vector_of
from proemlc_ros.errors import NotActiveError, ProEMLCError, text_of
from proemlc_ros.nodes.classifier.answered_services import AnsweredServices, fill
from proemlc_ros.nodes.classifier.deferred import DeferredResponse
from proemlc_ros.nodes.classifier.topics import ClassifierTopics
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.records import ClientRequest, Learnt, ModelChange
from proemlc_ros.srv import Annotate, LoadModel, Predict, RemoveLabel, RenameLabel, SaveModel


class ClassifierServices(AnsweredServices):
    """Creates the services and answers them.

    Args:
        node: on which they are created.
        classifier: what they act on.
        topics: publish what was done.
    """

    def __init__(self, node: Node, classifier: Classifier, topics: ClassifierTopics) -> None:
        self._classifier = classifier
        self._factory = RosMessages()
        super().__init__(node, topics, (
            ('annotate', Annotate, self._annotate),
            ('undo', Trigger, self._undo),
            ('reset', Trigger, self._reset),
            ('renew', Trigger, self._renew),
            ('rename_label', RenameLabel, self._rename),
            ('remove_label', RemoveLabel, self._remove),
            ('save_model', SaveModel, self._save),
            ('load_model', LoadModel, self._load),
            ('predict', Predict, self._predict),
        ))

    def _annotate(self, request: Any, response: Any) -> Any:
        if not self._topics.active:
            return self._reject(response, NotActiveError())
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
        if not self._topics.active:
            return self._reject(response, NotActiveError())
        vector = stamped_vector_of(request.features)
        try:
            prediction = self._classifier.predict(vector)
        except ProEMLCError as error:
            return self._reject(response, error)
        response.prediction = prediction_message(
            self._factory, request.features.header, vector, prediction)
        return fill(response, True, '')

    def _undo(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.undo())

    def _reset(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.reset())

    def _renew(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.renewals.request())

    def _rename(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(
            response, self._classifier.rename(
                request.label, request.new_label, request.annotator))

    def _remove(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.remove(
            request.label, request.annotator))

    def _save(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.save(
            request.file_name, bool(request.keep_existing)))

    def _load(self, request: Any, response: Any) -> DeferredResponse:
        return self._respond(response, self._classifier.load(
            request.file_name, request.annotator))

    def _respond(self, response: Any, change: Future[ModelChange]) -> DeferredResponse:
        """Answer once a change is made, behind the annotations that came before."""
        def done(made: ModelChange) -> Any:
            if made.event is not None:
                self._topics.publish_event(made.event)
            return fill(response, True, made.message)
        return self._defer(response, change, done)
