# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The behaviour-tree condition of the examples, in a tree of py_trees over DDS."""

import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy')
py_trees = pytest.importorskip('py_trees', reason='needs py_trees (pip install py_trees)')

import rclpy
from proemlc_ros.msg import Prediction, Region
from rclpy.executors import SingleThreadedExecutor
from ros_process import DEADLINE

sys.path.insert(0, str(Path(__file__).parents[2] / 'examples'))

from label_seen import LabelSeen

SUCCESS, FAILURE = py_trees.common.Status.SUCCESS, py_trees.common.Status.FAILURE


class Robot:
    """A tree with its node, and a publisher in the classifier's place."""

    def __init__(self, context):
        self.node = rclpy.create_node('robot', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.publisher = self.node.create_publisher(Prediction, 'proemlc/predictions', 10)
        self.heard = []

    def plant(self, *conditions):
        """Return a tree that does something where one of the conditions holds."""
        root = py_trees.composites.Selector('fetch', memory=False)
        for condition in conditions:
            fetch = py_trees.composites.Sequence(f'fetch {condition.label}', memory=False)
            fetch.add_children([condition, py_trees.behaviours.Success('grasp')])
            root.add_child(fetch)
        tree = py_trees.trees.BehaviourTree(root)
        tree.setup(timeout=DEADLINE, node=self.node)
        # The last: those before it have what it has.
        self.node.create_subscription(Prediction, 'proemlc/predictions', self.heard.append, 10)
        wanted = 1 + len(conditions)
        self.wait(lambda: self.publisher.get_subscription_count() == wanted)
        return tree

    def predict(self, stamp, *labels, region=None, unknown=False):
        """Publish a prediction, and wait until the subscriptions before ours have it, too."""
        message = Prediction(labels=list(labels), region=region or Region(), unknown=unknown)
        message.header.stamp.sec = stamp
        self.publisher.publish(message)
        count = len(self.heard)
        self.wait(lambda: len(self.heard) > count)
        for _ in range(10):
            self.executor.spin_once(0)

    def wait(self, condition):
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < deadline
            self.executor.spin_once(0.05)


@pytest.fixture
def robot(ros):
    running = Robot(ros)
    yield running
    running.executor.shutdown()
    running.node.destroy_node()


def test_the_tree_acts_when_the_label_is_seen(robot):
    cup = LabelSeen('cup', memory=3600.0)
    tree = robot.plant(cup)
    tree.tick()
    assert tree.root.status == FAILURE and cup.feedback_message == 'not seen'
    robot.predict(1, 'plate')
    tree.tick()
    assert tree.root.status == FAILURE
    robot.predict(1, unknown=True)
    tree.tick()
    assert tree.root.status == FAILURE and cup.feedback_message == 'not seen: unknown'
    box = Region(id='7', center_x=20.0, center_y=30.0, size_x=10.0, size_y=12.0)
    robot.predict(2, 'plate', 'cup', region=box)
    tree.tick()
    assert tree.root.status == SUCCESS and tree.tip().name == 'grasp'
    board = py_trees.blackboard.Client(name='arm')
    board.register_key('/seen/cup', access=py_trees.common.Access.READ)
    assert board.get('/seen/cup') == box


def test_what_was_seen_long_ago_does_not_count(robot):
    cup = LabelSeen('cup', memory=0.0)
    tree = robot.plant(cup)
    robot.predict(1, 'cup')
    tree.tick()
    assert tree.root.status == FAILURE and 'ago' in cup.feedback_message


def test_one_mistake_can_be_ignored(robot):
    tree = robot.plant(LabelSeen('cup', memory=3600.0, least=2))
    for stamp, labels, expected in ((1, ['cup'], FAILURE), (2, ['plate'], FAILURE),
                                    (3, ['cup'], FAILURE), (4, ['cup'], SUCCESS)):
        robot.predict(stamp, *labels)
        tree.tick()
        assert tree.root.status == expected, stamp
