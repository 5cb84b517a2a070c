# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Teaches a running classifier what a journal or a bag holds, by its services.

Published on topics, the events of a journal have no effect, and annotations are lost until both
sides have found each other. Each service call is answered before the next, so that the classifier
ends with the model of the one that was recorded.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from rclpy.client import Client
from rclpy.executors import Executor
from rclpy.node import Node
from std_srvs.srv import Trigger

from proemlc_ros.bags.sources import BagRecord
from proemlc_ros.classifier.records import Annotation, Event, EventKind, StampedVector
from proemlc_ros.conversions import annotation_message
from proemlc_ros.errors import BagError
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.srv import (
    Annotate,
    ChangeSamples,
    LoadModel,
    MergeLabels,
    RemoveLabel,
    RenameLabel,
    UndoChange,
)

# Seconds that the classifier may take for one answer; building a model again takes the longest.
ANSWER_TIMEOUT = 120.0
# Vectors kept for annotations to come, as in the classifier.
MAX_VECTORS = 1000
_SERVICES: dict[str, Any] = {
    'annotate': Annotate, 'undo': Trigger, 'reset': Trigger, 'renew': Trigger,
    'rename_label': RenameLabel, 'remove_label': RemoveLabel, 'load_model': LoadModel,
    'change_samples': ChangeSamples,
    'merge_labels': MergeLabels, 'redo_change': UndoChange}


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
        # Numbers of the journal entries: those of the bag, and what the classifier made of them.
        self._place = 0
        self._numbers: dict[int, int] = {}

    def wait(self, seconds: float) -> bool:
        """Wait until the classifier offers its services; return whether it does."""
        return bool(self._client('annotate').wait_for_service(seconds))

    def take(self, record: BagRecord) -> None:
        """Carry out a record; a vector is kept for the annotations of it."""
        if isinstance(record, StampedVector):
            self._vectors[record.stamp] = record
            if len(self._vectors) > MAX_VECTORS:
                self._vectors.popitem(last=False)
            return
        self._place += 1
        if isinstance(record, Annotation):
            self._annotate(record)
        else:
            self._carry_out(record)

    def _annotate(self, annotation: Annotation) -> None:
        vector = self._vectors.get(annotation.stamp)
        if not annotation.stamp and self._vectors:
            vector = next(reversed(self._vectors.values()))
        if annotation.features is None and vector is not None:
            annotation = annotation.about(vector)
        answer = self._call('annotate', annotation=annotation_message(self._messages, annotation))
        if answer is not None:
            self._numbers[self._place] = int(answer.entry)

    def _carry_out(self, event: Event) -> None:
        sample = self._numbers.get(event.sample, event.sample)
        if event.kind is EventKind.UNDO:
            self._call('undo')
        elif event.kind is EventKind.REDO:
            self._call('redo_change', annotator=event.annotator)
        elif event.kind in (EventKind.RESET, EventKind.RENEW):
            self._call(event.kind.name.lower())
        elif event.kind is EventKind.RENAME:
            self._call('rename_label', label=event.label, new_label=event.new_label)
        elif event.kind is EventKind.REMOVE:
            self._call('remove_label', label=event.label)
        elif event.kind is EventKind.MERGE_LABELS:
            self._call('merge_labels', label=event.label, into=event.new_label)
        elif event.kind is EventKind.LOAD:
            self._call('load_model', file_name=event.file_name)
        elif event.kind in (EventKind.RELABEL, EventKind.DELETE):
            self._call('change_samples', samples=[sample], labels=list(event.labels),
                       absent=list(event.absent), complete=event.complete,
                       remove=event.kind is EventKind.DELETE)

    def _call(self, name: str, **fields: Any) -> Any:
        """Return the answer of a service, None where it did not succeed.

        Raises:
            BagError: the classifier does not answer.
        """
        client = self._client(name)
        if not client.wait_for_service(ANSWER_TIMEOUT):
            raise BagError(f'{self._classifier} offers no service {name}; is it active?')
        future = client.call_async(_SERVICES[name].Request(**fields))
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while not future.done():
            if time.monotonic() > deadline or not self._node.context.ok():
                raise BagError(f'{self._classifier} has not answered {name}')
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
