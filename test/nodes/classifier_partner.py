# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The other side of the classifier's interface, in the test's own process."""

from __future__ import annotations

import time
from array import array
from collections import defaultdict

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetState
from proemlc_ros.msg import (
    FeatureVector,
    LabelAnnotation,
    LabelQuery,
    LabelSet,
    ModelEvent,
    Prediction,
)
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from ros_process import DEADLINE

from proemlc_ros.nodes.ros_messages import SERVICES as CLASSIFIER_SERVICES

WIDTH = 8
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

SERVICES = {
    **CLASSIFIER_SERVICES, 'change_state': ChangeState, 'get_state': GetState,
    'set_parameters': SetParameters, 'get_parameters': GetParameters,
    'describe_parameters': DescribeParameters,
}


def values_of(number: int, width: int = WIDTH) -> np.ndarray:
    return np.random.default_rng(number).normal(size=width).astype(np.float32)


class ClassifierPartner:
    """Publishes, listens and calls; `self.heard[topic]` has all messages of a topic.

    Args:
        context: of rclpy.
        name: of the classifier.
        input_type: type of the feature vectors.
        qos: of feature vectors and predictions; those of sensors may get lost.
    """

    def __init__(self, context, name: str = '/proemlc', input_type=FeatureVector,
                 qos: QoSProfile = qos_profile_sensor_data):
        self.name = name
        self.node = rclpy.create_node('partner', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.heard = defaultdict(list)
        self.features = self.node.create_publisher(input_type, f'{name}/features', qos)
        self.annotations = self.node.create_publisher(LabelAnnotation, f'{name}/annotations', 100)
        for topic, kind, its_qos in (
                ('predictions', Prediction, qos),
                ('queries', LabelQuery, 10), ('learnt', LabelAnnotation, 50),
                ('events', ModelEvent, 50),
                # Last: when the latched labels come, the node knows the subscriptions before.
                ('labels', LabelSet, LATCHED)):
            self._listen(kind, f'{name}/{topic}', topic, its_qos)
        self._listen(DiagnosticArray, '/diagnostics', 'diagnostics', 10)
        self.clients = {}

    def _listen(self, kind, full_name, topic, qos):
        self.node.create_subscription(kind, full_name, self.heard[topic].append, qos)

    def spin_until(self, condition, timeout: float = DEADLINE, what: str = ''):
        """Return the first true value of a condition."""
        deadline = time.monotonic() + timeout
        while not (value := condition()):
            assert time.monotonic() < deadline, f'waited in vain for {what or condition}'
            self.executor.spin_once(0.05)
        return value

    def spin_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.executor.spin_once(0.02)

    def wait_until_ready(self, timeout: float = DEADLINE) -> ClassifierPartner:
        """Wait for an active node that is connected in both directions."""
        self.spin_until(lambda: self.heard['labels'], timeout, 'latched labels')
        self.spin_until(lambda: (self.features.get_subscription_count()
                                 and self.annotations.get_subscription_count()
                                 and self.node.count_publishers(f'{self.name}/predictions')),
                        timeout, 'subscriptions')
        return self

    def call(self, service: str, timeout: float = DEADLINE, **fields):
        """Call a service and return the answer."""
        if service not in self.clients:
            self.clients[service] = self.node.create_client(
                SERVICES[service], f'{self.name}/{service}')
        client = self.clients[service]
        assert client.wait_for_service(timeout), f'no service {service}'
        future = client.call_async(client.srv_type.Request(**fields))
        self.spin_until(future.done, timeout, f'the answer of {service}')
        return future.result()

    def send(self, stamp: float, values, **fields) -> None:
        message = FeatureVector(data=array('f', values), **fields)
        message.header.stamp.sec, message.header.stamp.nanosec = _split(stamp)
        message.header.frame_id = 'camera'
        self.features.publish(message)

    def predict(self, stamp: float, values, timeout: float = DEADLINE, **fields) -> Prediction:
        """Publish a vector until its prediction comes; best effort may lose either."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.send(stamp, values, **fields)
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                self.executor.spin_once(0.05)
                for message in self.heard['predictions']:
                    if seconds_of(message.header) == stamp:
                        return message
        raise AssertionError(f'no prediction for {stamp}')

    def annotate(self, stamp: float = 0.0, labels=(), features=(), **fields):
        """Call ~/annotate."""
        return self.call('annotate', annotation=annotation(stamp, labels, features, **fields))

    def teach(self, count: int = 12, start: int = 0) -> None:
        """Teach three labels in turn."""
        for number in range(start, start + count):
            answer = self.annotate(labels=[f'label {number % 3}'], features=values_of(number))
            assert answer.success, answer.message

    def diagnostics(self, condition=lambda values: True, timeout: float = DEADLINE,
                    since: float | None = None) -> dict[str, str]:
        """Return the values of the first diagnostics that fulfil a condition.

        Args:
            condition: is given the values.
            timeout: seconds.
            since: what was found out before is passed over, by the clock of the node; None: now.
        """
        # Those that still wait in the queue of DDS are older than what the test did last.
        since = time.time() if since is None else since
        self.heard['diagnostics'].clear()

        def found():
            for message in self.heard['diagnostics']:
                if seconds_of(message.header) < since:
                    continue
                for status in message.status:
                    values = {entry.key: entry.value for entry in status.values}
                    if status.name.endswith(': classifier') and condition(values):
                        return values
            return None
        return self.spin_until(found, timeout, 'diagnostics')

    def close(self):
        self.node.destroy_node()
        self.executor.shutdown()


def vector(values) -> FeatureVector:
    return FeatureVector(data=array('f', values))


def annotation(stamp: float = 0.0, labels=(), features=(), **fields) -> LabelAnnotation:
    message = LabelAnnotation(labels=list(labels), features=array('f', features), **fields)
    message.header.stamp.sec, message.header.stamp.nanosec = _split(stamp)
    return message


def seconds_of(header) -> float:
    return header.stamp.sec + header.stamp.nanosec * 1e-9


def _split(stamp: float) -> tuple[int, int]:
    return int(stamp), round((stamp - int(stamp)) * 1e9)
