# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's services; all that change the model are answered by the teaching thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rclpy.node import Node
from rclpy.service import Service
from std_srvs.srv import Trigger

from proemlc_ros.classifier.classifier import Classifier, VersionedPrediction
from proemlc_ros.classifier.durable_model import Learnt
from proemlc_ros.classifier.records import Annotation, Event, EventKind
from proemlc_ros.classifier.validation import text_of
from proemlc_ros.conversions import annotation_of, stamped_vector_of
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.nodes.deferred import DeferredResponse, allow_deferred
from proemlc_ros.srv import Annotate, LoadModel, Predict, RemoveLabel, RenameLabel, SaveModel


class Owner(Protocol):
    """What the services need of the interface that they belong to."""

    active: bool

    def refused(self, error: Exception) -> None:
        """Count and log a refusal."""

    def told(self, error: Exception) -> None:
        """Log a refusal that is counted already."""

    def taught(self, annotation: Annotation, answer: Learnt) -> None:
        """Follow an annotation that was learnt."""

    def changed(self, event: Event) -> None:
        """Follow a change of the model."""

    def prediction(self, header: object, verdict: VersionedPrediction) -> Any:
        """Return the message of a verdict."""


class ClassifierServices:
    """Creates the services and answers them.

    Args:
        node: on which they are created.
        owner: told about what happens.
        classroom: what they act on.
    """

    def __init__(self, node: Node, owner: Owner, classroom: Classifier) -> None:
        self._node = node
        self._owner = owner
        self._classroom = classroom
        self._session = classroom.session
        self._services: list[Service] = [
            allow_deferred(node.create_service(kind, f'~/{name}', callback))
            for name, kind, callback in (
                ('annotate', Annotate, self._annotate),
                ('undo', Trigger, self._undo),
                ('reset', Trigger, self._reset),
                ('rename_label', RenameLabel, self._rename),
                ('remove_label', RemoveLabel, self._remove),
                ('save_model', SaveModel, self._save),
                ('load_model', LoadModel, self._load),
                ('predict', Predict, self._predict),
            )]

    def destroy(self) -> None:
        """Take the services down."""
        for service in self._services:
            self._node.destroy_service(service)

    def _annotate(self, request: Any, response: Any) -> Any:
        if not self._owner.active:
            return _fill(response, False, _NOT_ACTIVE)
        deferred = DeferredResponse()

        def done(annotation: Annotation, answer: Learnt | ProEMLCError) -> None:
            response.label_set_version = self._session.pupil.version
            if isinstance(answer, Learnt):
                self._owner.taught(annotation, answer)
                deferred.resolve(_fill(response, True, _learnt_text(annotation, answer)))
            else:
                self._owner.told(answer)
                deferred.resolve(_fill(response, False, text_of(answer)))
        self._classroom.annotate(annotation_of(request.annotation), done)
        return deferred

    def _predict(self, request: Any, response: Any) -> Any:
        if not self._owner.active:
            return _fill(response, False, _NOT_ACTIVE)
        try:
            verdict = self._classroom.classify(stamped_vector_of(request.features))
        except ProEMLCError as error:
            self._owner.refused(error)
            return _fill(response, False, text_of(error))
        response.prediction = self._owner.prediction(request.features.header, verdict)
        return _fill(response, True, '')

    def _undo(self, request: Any, response: Any) -> Any:
        def act() -> str:
            annotation = self._session.undo()
            self._owner.changed(Event(EventKind.UNDO))
            return f'took back {_names(annotation.labels)}'
        return self._later(response, act)

    def _reset(self, request: Any, response: Any) -> Any:
        def act() -> str:
            kept = self._session.reset()
            self._classroom.restart()
            self._owner.changed(Event(EventKind.RESET))
            return 'forgot everything' + (
                f'; load {kept.name} to take it back' if kept is not None else '')
        return self._later(response, act)

    def _rename(self, request: Any, response: Any) -> Any:
        def act() -> str:
            self._session.rename(request.label, request.new_label)
            self._owner.changed(Event(EventKind.RENAME, 0, request.label, request.new_label))
            return f'{request.label!r} is now {request.new_label!r}'
        return self._later(response, act)

    def _remove(self, request: Any, response: Any) -> Any:
        def act() -> str:
            self._session.remove(request.label)
            self._owner.changed(Event(EventKind.REMOVE, 0, request.label))
            return f'forgot {request.label!r}'
        return self._later(response, act)

    def _save(self, request: Any, response: Any) -> Any:
        def act() -> str:
            path = self._session.save(request.file_name)
            # The name first: a terminal may have no room for the folder.
            return f'wrote {path.name} to {path.parent}'
        return self._later(response, act)

    def _load(self, request: Any, response: Any) -> Any:
        def act() -> str:
            path = self._session.load(request.file_name)
            self._classroom.restart()
            self._owner.changed(Event(EventKind.LOAD, file_name=path.name))
            model = self._session.pupil.model
            return (f'loaded {path.name}: {len(model.labels)} labels, {model.samples} samples')
        return self._later(response, act)

    def _later(self, response: Any, act: Callable[[], str]) -> DeferredResponse:
        """Act in the teaching thread, behind the annotations that came before."""
        deferred = DeferredResponse()

        def answer() -> None:
            try:
                deferred.resolve(_fill(response, True, act()))
            except (ProEMLCError, OSError) as error:
                self._owner.refused(error)
                deferred.resolve(_fill(response, False, _reason(error)))
            except Exception as error:
                deferred.resolve(_fill(response, False, f'internal error: {error!r}'))
                raise
        self._classroom.teacher.call(answer)
        return deferred


_NOT_ACTIVE = 'the classifier is not active; activate it first'


def _fill(response: Any, success: bool, message: str) -> Any:
    response.success = success
    response.message = message
    return response


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (f'cannot write {error.filename}: {error.strerror}; check the disk for space and '
                'the folder for write permission')
    return text_of(error)


def _names(names: tuple[str, ...]) -> str:
    return ', '.join(map(repr, names)) if names else 'an annotation without labels'


def _learnt_text(annotation: Annotation, answer: Learnt) -> str:
    text = f'learnt {_names(annotation.labels)}'
    return f'{text}; new: {_names(answer.introduced)}' if answer.introduced else text
