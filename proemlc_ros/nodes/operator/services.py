# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The operators' actions: the classifier's services, called from an asyncio loop."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from rclpy.client import Client
from rclpy.node import Node
from std_srvs.srv import Trigger

from proemlc_ros.conversions import (
    annotation_message,
    feature_vector_message,
    new_header,
    region_message,
    stamped_prediction_of,
)
from proemlc_ros.errors import ClassifierUnavailableError, NoAnswerError
from proemlc_ros.msg import RegionArray
from proemlc_ros.nodes.operator.classifier_client import (
    ClassifierClient,
    comes_true,
    wait_for_answer,
)
from proemlc_ros.nodes.operator.review import OperatorReview
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.records import (
    WHOLE,
    Annotation,
    EventKind,
    Region,
    StampedPrediction,
)
from proemlc_ros.srv import (
    Annotate,
    ControlSource,
    LoadModel,
    Predict,
    RemoveLabel,
    RenameLabel,
    SaveModel,
)


class OperatorServices:
    """Calls the services of a classifier; see operator.actions for what each does.

    Args:
        node: to call with; spun in another thread.
        classifier: name of the classifier node, absolute or relative to the node's namespace.
        view: what is known of the classifier.
    """

    def __init__(self, node: Node, classifier: str, view: ClassifierView) -> None:
        self._view = view
        self._messages = RosMessages()
        self._regions: Any = None
        self._classifier = ClassifierClient(node, classifier, view)
        client = self._classifier.of
        self._annotate = client(Annotate, 'annotate')
        self._undo = client(Trigger, 'undo')
        self._rename = client(RenameLabel, 'rename_label')
        self._remove = client(RemoveLabel, 'remove_label')
        self._save = client(SaveModel, 'save_model')
        self._load = client(LoadModel, 'load_model')
        self._predict = client(Predict, 'predict')
        self._source = node.create_client(ControlSource, 'source/control')
        self.review = OperatorReview(self._classifier)

    @property
    def ready(self) -> bool:
        """Whether the classifier offers its services."""
        return bool(self._annotate.service_is_ready())

    async def annotate(self, annotation: Annotation, request_id: str = '') -> ActionResult:
        """Teach an annotation; done only once it is durable."""
        message = annotation_message(self._messages, annotation)
        request = Annotate.Request(annotation=message, request_id=request_id or str(uuid4()))
        try:
            response = await self._classifier.call(self._annotate, request)
        except NoAnswerError:
            if not await self._classifier.comes_back(self._annotate):
                raise
            # The same id: it is learnt once, whatever became of the first request.
            response = await self._classifier.call(self._annotate, request)
        if response.success:
            self._view.on_learnt(annotation, published=False)
        return ActionResult(response.success, response.message)

    async def undo(self, who: str) -> ActionResult:
        """Undo the last annotation."""
        return await self._change(EventKind.UNDO, who, self._undo, Trigger.Request())

    async def rename(self, who: str, label: str, new_label: str) -> ActionResult:
        """Rename a label."""
        return await self._change(EventKind.RENAME, who, self._rename, RenameLabel.Request(
            label=label, new_label=new_label, annotator=who))

    async def remove(self, who: str, label: str) -> ActionResult:
        """Remove a label and what was learnt of it."""
        return await self._change(
            EventKind.REMOVE, who, self._remove, RemoveLabel.Request(
                label=label, annotator=who))

    async def save(self, who: str, file_name: str, keep_existing: bool = False) -> ActionResult:
        """Write the model to a file."""
        result = await self._classifier.act(self._save, SaveModel.Request(
            file_name=file_name, keep_existing=keep_existing))
        if result.done:
            # Saving does not change the model, so the classifier publishes no event.
            self._view.note(who, 'saved the model')
        return result

    async def load(self, who: str, file_name: str) -> ActionResult:
        """Replace the model by that of a file."""
        return await self._change(
            EventKind.LOAD, who, self._load, LoadModel.Request(
                file_name=file_name, annotator=who))

    def enable_drawing(self, node: Node, topic: str) -> None:
        """Let boxes be drawn; the feature node keeps pictures from then on."""
        self._regions = node.create_publisher(RegionArray, topic, 10)

    async def draw(self, stamp: int, region: Region) -> None:
        """Have a box of a picture classified; one of no size only keeps the picture for later.

        Raises:
            ClassifierUnavailableError: no feature node takes boxes.
        """
        if self._regions is None:
            return
        # What is published before DDS has matched the feature node is lost.
        if not region.is_whole and not await comes_true(self._has_feature_node):
            raise ClassifierUnavailableError(
                f'no feature node takes boxes on {self._regions.topic_name}; nothing was sent')
        self._regions.publish(RegionArray(
            header=new_header(self._messages, stamp),
            regions=[] if region.is_whole else [region_message(self._messages, region)]))

    async def predict(self, stamp: int, region: Region = WHOLE) -> StampedPrediction | None:
        """Return the prediction of a held vector by the present model; None where it cannot."""
        vector = (self._view.vectors.find(stamp) if region.is_whole
                  else self._view.regions.vector(stamp, region))
        if vector is None:
            return None
        request = Predict.Request(features=feature_vector_message(self._messages, vector))
        try:
            response = await self._classifier.call(self._predict, request)
        except ClassifierUnavailableError:
            return None
        return stamped_prediction_of(response.prediction) if response.success else None

    async def control_source(self, command: str, position: int,
                             things: tuple[str, ...]) -> ActionResult:
        """Control the source of the pictures, which answers also without a classifier."""
        if not self._source.service_is_ready():
            raise ClassifierUnavailableError('the source of the pictures does not answer')
        response = await wait_for_answer(self._source, ControlSource.Request(
            command=command, position=min(position, 2**32 - 1), things=list(things)),
            lambda: True)
        return ActionResult(response.success, response.message)

    async def _change(self, kind: EventKind, who: str, client: Client,
                      request: Any) -> ActionResult:
        """Call a service whose effect the classifier publishes to everybody."""
        self._view.expect(kind, who)
        try:
            result = await self._classifier.act(client, request)
        except ClassifierUnavailableError:
            self._view.expect(kind, '')
            raise
        if not result.done:
            self._view.expect(kind, '')
        return result

    def _has_feature_node(self) -> bool:
        return bool(self._regions.get_subscription_count())
