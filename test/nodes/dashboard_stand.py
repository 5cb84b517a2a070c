# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of the page need: classifier, camera and dashboard as processes, and a listener."""

import threading
import time
from pathlib import Path

import rclpy
from proemlc_ros.msg import FeatureVector, LabelAnnotation, LabelSet
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from ros_process import DEADLINE
from std_msgs.msg import String

from proemlc_ros.conversions import annotation_of, stamped_vector_of

PLAYER = Path(__file__).parent / 'scene_player.py'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Listener:
    """Receives feature vectors by stamp, and the annotations that the classifier has learnt.

    Args:
        context: of rclpy.
        durability: of the publisher of the vectors; scene_player.py keeps those from before.
    """

    def __init__(self, context, durability=DurabilityPolicy.VOLATILE):
        self.node = rclpy.create_node('listener', context=context)
        self.vectors = {}
        self.learnt = []
        self._scenes = {}
        self.node.create_subscription(
            FeatureVector, 'proemlc/features', self._on_features,
            QoSProfile(depth=1000, durability=durability))
        self.node.create_subscription(
            LabelAnnotation, 'proemlc/learnt',
            lambda message: self.learnt.append(annotation_of(message)), 50)
        self._scene = self.node.create_publisher(String, 'scene', 10)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(self.node)
        self._stop = Future(executor=executor)
        self._thread = threading.Thread(
            target=executor.spin_until_future_complete, args=(self._stop,), daemon=True)
        self._thread.start()

    def wait_connected(self):
        """Wait until the classifier has found us, so that no learnt annotation is missed.

        DDS announces subscriptions in the order in which they were made. Once the classifier has
        sent its latched labels to a subscription that was made last, it knows the earlier ones.
        """
        received = threading.Event()
        self.node.create_subscription(
            LabelSet, 'proemlc/labels', lambda message: received.set(), LATCHED)
        assert received.wait(DEADLINE), 'no labels came from the classifier'
        wait_until(lambda: self.vectors, 'feature vectors')

    def _on_features(self, message):
        vector = stamped_vector_of(message)
        # The first one: a question may be about it, and about none that follows.
        self._scenes.setdefault(message.header.frame_id, vector.stamp)
        self.vectors[vector.stamp] = vector

    def newest(self):
        """Return the stamp of the newest vector; all later ones will be received too."""
        return max(self.vectors)

    def show(self, scene):
        """Put things on the table and return the stamp at which they were first seen."""
        wait_until(lambda: self._scene.get_subscription_count(), 'the scene player')
        self._scenes.pop(scene, None)
        self._scene.publish(String(data=scene))
        wait_until(lambda: scene in self._scenes, f'a vector of scene {scene}')
        return self._scenes[scene]

    def wait_learnt(self, count):
        """Return the annotation that was learnt as the count-th, once it came."""
        wait_until(lambda: len(self.learnt) >= count, f'{count} annotations, not {self.learnt}')
        return self.learnt[count - 1]

    def wait_vector(self, stamp):
        """Return the vector of a stamp; it may come after an annotation of it."""
        wait_until(lambda: stamp in self.vectors, f'the vector of stamp {stamp}')
        return self.vectors[stamp]

    def close(self):
        self._stop.set_result(None)
        self._thread.join(5)
        self.node.destroy_node()


def wait_until(condition, what, timeout=DEADLINE):
    """Wait for a condition, and fail with words."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f'waited {timeout} s in vain for {what}'
        time.sleep(0.02)


class Stand:
    """Classifier, camera and dashboard, each in a process of its own, and a listener."""

    def __init__(self, start_process, context, folder):
        self._start = start_process
        self.models = folder / 'models'
        self.listener = Listener(context, DurabilityPolicy.TRANSIENT_LOCAL)
        self.player = start_process('python', PLAYER)
        self.classifier = self.start_classifier()

    def start_classifier(self, *parameters):
        process = self._start(
            'classifier_node', '--ros-args', '-p', f'model_directory:={self.models}',
            '-p', 'hidden_size:=500', '-p', 'activation:=relu', *parameters,
            environment={'OPENBLAS_NUM_THREADS': '1'})
        self.classifier = process
        return process

    def start_dashboard(self, *parameters, **options):
        """Start the dashboard and return the process and the page's address."""
        process = self._start('dashboard_node', '--ros-args', *(
            part for parameter in ('port:=0', *parameters) for part in ('-p', parameter)),
            **options)
        address = process.wait_for(r'Dashboard: (http\S+)', timeout=DEADLINE)[1]
        self.listener.wait_connected()
        return process, address
