# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A behaviour-tree condition: whether the classifier has seen a label lately.

For py_trees, alone or in a py_trees_ros tree, which passes its node to setup():

    fetch = py_trees.composites.Sequence('fetch', memory=True)
    fetch.add_children([LabelSeen('cup'), GoTo(...), Grasp(...)])

The condition succeeds while a prediction with the label is not older than `memory` seconds, and
fails otherwise; it never blocks. Where the label is of a region of the picture, that box is
written to the blackboard (/seen/cup), for whatever acts next.
"""

from __future__ import annotations

from typing import Any

import py_trees
from proemlc_ros.msg import Prediction
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time

# Regions of one picture come as one prediction each.
PREDICTIONS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)


class LabelSeen(py_trees.behaviour.Behaviour):
    """Succeeds while a label is seen.

    Args:
        label: that must be among the predicted ones.
        memory: seconds for which a prediction counts, by the node's clock.
        topic: of the predictions.
        least: pictures in a row that must show it; more than one ignores a single mistake.
    """

    def __init__(self, label: str, memory: float = 1.0, topic: str = 'proemlc/predictions',
                 least: int = 1) -> None:
        super().__init__(f'{label} seen')
        self.label = label
        self.memory = memory
        self.topic = topic
        self.least = least
        self.region: Any = None
        self._node: Node | None = None
        self._seen: tuple[Time, Time] | None = None  # stamp of the picture, time of arrival
        self._in_a_row = 0
        self._newest: Time | None = None
        self._unknown = False  # whether the newest prediction says "I don't know"
        self.blackboard = self.attach_blackboard_client(name=self.name)
        self.key = f'/seen/{label.replace("/", "_").replace(".", "_")}'
        self.blackboard.register_key(self.key, access=py_trees.common.Access.WRITE)

    def setup(self, **kwargs: Any) -> None:
        """Subscribe with the tree's node."""
        self._node = kwargs['node']
        self._node.create_subscription(Prediction, self.topic, self._on_prediction, PREDICTIONS)

    def _on_prediction(self, message: Prediction) -> None:
        stamp = Time.from_msg(message.header.stamp)
        shows = self.label in message.labels
        self._unknown = message.unknown
        new_picture = self._newest is None or stamp > self._newest
        if new_picture:
            if self._seen is None or self._seen[0] != self._newest:
                self._in_a_row = 0  # The picture before did not show it.
            self._newest = stamp
        if shows and (self._seen is None or self._seen[0] != stamp):
            self._in_a_row += 1
            self._seen = stamp, self._node.get_clock().now()
            self.region = message.region

    def update(self) -> py_trees.common.Status:
        """Return whether the label is seen now."""
        if self._seen is None or self._in_a_row < self.least:
            self.feedback_message = 'not seen: unknown' if self._unknown else 'not seen'
            return py_trees.common.Status.FAILURE
        age = (self._node.get_clock().now() - self._seen[1]).nanoseconds * 1e-9
        if age > self.memory:
            self.feedback_message = f'last seen {age:.1f} s ago'
            return py_trees.common.Status.FAILURE
        self.feedback_message = 'seen'
        self.blackboard.set(self.key, self.region)
        return py_trees.common.Status.SUCCESS
