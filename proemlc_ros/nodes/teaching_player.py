# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Teaches a running classifier what a journal or a bag holds, by its services.

Published on topics, the events of a journal have no effect, and annotations are lost until both
sides have found each other. Each service call is answered before the next, so that the classifier
ends with the model of the one that was recorded.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rclpy.client import Client
from rclpy.executors import Executor
from rclpy.node import Node
from std_srvs.srv import Trigger

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.conversions import annotation_message
from proemlc_ros.errors import BagError
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector
from proemlc_ros.srv import (
    Annotate,
    ChangeSamples,
    ListHistory,
    LoadModel,
    MergeLabels,
    RemoveLabel,
    RenameLabel,
    UndoChange,
)

# Seconds that the classifier may take for one answer; building a model again takes the longest.
ANSWER_TIMEOUT = 120.0
# Seconds after which an annotation is sent again, by the same id, so that it is learnt once: an
# answer is lost where the classifier has not found this client yet.
REPEAT_AFTER = 10.0
# Vectors kept for annotations to come, as in the classifier.
MAX_VECTORS = 1000
_SERVICES: dict[str, Any] = {
    'annotate': Annotate, 'undo': Trigger, 'reset': Trigger, 'renew': Trigger,
    'rename_label': RenameLabel, 'remove_label': RemoveLabel, 'load_model': LoadModel,
    'change_samples': ChangeSamples, 'merge_labels': MergeLabels, 'list_history': ListHistory,
    'undo_change': UndoChange, 'redo_change': UndoChange}
_CORRECTIONS = (EventKind.RELABEL, EventKind.DELETE)
_TURNS = (EventKind.UNDO, EventKind.REDO)
# Service and request of the events that refer to no other entry.
_REQUESTS: dict[EventKind, Callable[[Event], tuple[str, dict[str, Any]]]] = {
    EventKind.UNDO: lambda event: ('undo', {}),
    EventKind.REDO: lambda event: ('redo_change', {}),
    EventKind.RESET: lambda event: ('reset', {}),
    EventKind.RENEW: lambda event: ('renew', {}),
    EventKind.RENAME: lambda event: (
        'rename_label', {'label': event.label, 'new_label': event.new_label}),
    EventKind.REMOVE: lambda event: ('remove_label', {'label': event.label}),
    EventKind.MERGE_LABELS: lambda event: (
        'merge_labels', {'label': event.label, 'into': event.new_label}),
    EventKind.LOAD: lambda event: ('load_model', {'file_name': event.file_name}),
}


class TeachingPlayer:
    """Carries out annotations and events of a bag at a classifier.

    Args:
        node: to call with.
        executor: that has the node.
        classifier: full name of the classifier.

    Attributes:
        done: number of annotations and events carried out.
        failures: why others were not, in words.
    """

    def __init__(self, node: Node, executor: Executor, classifier: str) -> None:
        self.done = 0
        self.failures: list[str] = []
        self._node = node
        self._classifier = classifier
        self._executor = executor
        self._clients: dict[str, Client] = {}
        self._messages = RosMessages()
        self._vectors: OrderedDict[int, StampedVector] = OrderedDict()
        # By the numbers of entries in the bag: those that the classifier gave, and who did it.
        self._numbers: dict[int, int] = {}
        self._annotators: dict[int, str] = {}
        self._id = f'play:{secrets.token_hex(6)}'
        self._annotations = 0

    def wait(self, seconds: float) -> bool:
        """Wait until the classifier offers its services; return whether it does."""
        for name in _SERVICES:  # All of them now, so that they have found each other when needed.
            self._client(name)
        return bool(self._client('annotate').wait_for_service(seconds))

    def take(self, record: BagRecord) -> None:
        """Carry out a record; a vector is kept for the annotations of it."""
        if isinstance(record, StampedVector):
            self._vectors[record.stamp] = record
            if len(self._vectors) > MAX_VECTORS:
                self._vectors.popitem(last=False)
            return
        if isinstance(record, Annotation):
            number = self._annotate(record)
        elif record.kind in _CORRECTIONS or record.sample and record.kind in _TURNS:
            number = self._correct(record)
        else:
            number = self._change(record)
        if record.entry and number:
            self._numbers[record.entry] = number
            self._annotators[record.entry] = record.annotator

    def _annotate(self, annotation: Annotation) -> int:
        """Return the number of the entry; so do the others; 0 where there is none."""
        vector = self._vectors.get(annotation.stamp)
        if not annotation.stamp and self._vectors:
            vector = next(reversed(self._vectors.values()))
        if annotation.features is None and vector is not None:
            annotation = annotation.about(vector)
        self._annotations += 1
        answer = self._call('annotate', annotation=annotation_message(self._messages, annotation),
                            request_id=f'{self._id}:{self._annotations}')
        if answer is None:
            return 0
        return int(answer.entry)

    def _correct(self, event: Event) -> int:
        """Carry out an event that refers to another entry."""
        number = self._numbers.get(event.sample)
        if number is None:
            self.failures.append(f'{event.kind.name.lower()} of entry {event.sample}, which is '
                                 'not in the bag or was not repeated')
            return 0
        if event.kind in _TURNS:
            # Of one's own steps the last one, else the last one of all.
            self._call(f'{event.kind.name.lower()}_change', steps=[number],
                       annotator=event.annotator,
                       mine=self._annotators[event.sample] == event.annotator)
            return 0
        answer = self._call(
            'change_samples', samples=[number], labels=list(event.labels),
            absent=list(event.absent), complete=event.complete,
            remove=event.kind is EventKind.DELETE, annotator=event.annotator)
        return 0 if answer is None else int(answer.steps[0])

    def _change(self, event: Event) -> int:
        """Carry out an event about the model as a whole, or its last annotation."""
        name, fields = _REQUESTS[event.kind](event)
        if event.kind not in (EventKind.UNDO, EventKind.RESET, EventKind.RENEW):
            fields['annotator'] = event.annotator
        if self._call(name, **fields) is None or event.kind is EventKind.UNDO:
            return 0
        return self._last_step()

    def _last_step(self) -> int:
        history = self._call('list_history', limit=1)
        self.done -= 1  # It only asks.
        return int(history.steps[0].number) if history is not None and history.steps else 0

    def _call(self, name: str, **fields: Any) -> Any:
        """Return the answer of a service, None where it did not succeed.

        Raises:
            BagError: the classifier does not answer.
        """
        client = self._client(name)
        if not client.wait_for_service(ANSWER_TIMEOUT):
            raise BagError(f'{self._classifier} offers no service {name}; is it active?')
        request = _SERVICES[name].Request(**fields)
        future = client.call_async(request)
        began = sent = time.monotonic()
        while not future.done():
            if time.monotonic() > began + ANSWER_TIMEOUT or not self._node.context.ok():
                raise BagError(f'{self._classifier} has not answered {name}')
            if name == 'annotate' and time.monotonic() > sent + REPEAT_AFTER:
                client.remove_pending_request(future)
                future, sent = client.call_async(request), time.monotonic()
            self._executor.spin_once(0.1)
        answer = future.result()
        if not answer.success:
            self.failures.append(f'{name}: {answer.message}')
            return None
        self.done += 1
        return answer

    def _client(self, name: str) -> Client:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(
                _SERVICES[name], f'{self._classifier}/{name}')
        return self._clients[name]
