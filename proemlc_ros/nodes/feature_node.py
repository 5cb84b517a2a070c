# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node: sensor topics in, joined feature vectors out."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import cv2
import sensor_msgs.msg
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import (
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_sensor_data,
)

from proemlc_ros.classifier.records import StampedVector
from proemlc_ros.conversions import feature_vector_message
from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.pipeline import FeatureSample, Sensor
from proemlc_ros.msg import FeatureVector
from proemlc_ros.nodes.feature_health import FeatureHealth
from proemlc_ros.nodes.feature_parameters import declare_pipeline
from proemlc_ros.nodes.process import run
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.nodes.throttled_log import ThrottledLog

# The classifier of the default name, in the same namespace, listens here.
FEATURES_TOPIC = 'proemlc/features'
# Windows need every sample; of pictures and clouds only the newest are worth the time.
QUEUE_LENGTH = {'imu': 200, 'joints': 100}


class FeatureNode(Node):
    """Subscribes to the sensors of its parameters and publishes what the pipeline gives."""

    def __init__(self, **node_options: Any) -> None:
        """Read the parameters and subscribe.

        Raises:
            ExtractorError: the parameters make no pipeline; the text names the wrong one.

        """
        # The names of the sensors are the user's, so their parameters come with the file.
        super().__init__(
            'features', automatically_declare_parameters_from_overrides=True, **node_options)
        parameters = declare_pipeline(self)
        self._pipeline = parameters.pipeline
        self._health = FeatureHealth(self._pipeline, self.get_fully_qualified_name())
        self._warnings = ThrottledLog(self.get_logger().warning, parameters.warning_period)
        self._publisher = self.create_publisher(
            FeatureVector, FEATURES_TOPIC, qos_profile_sensor_data)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._topics: dict[str, str] = {}
        for sensor in self._pipeline.sensors:
            self._subscribe(sensor, parameters.reliability[sensor.name])
        self.create_timer(1.0, self._report)
        self.get_logger().info(
            f'{self._pipeline.extractor} from {", ".join(self._topics.values())} '
            f'to {self._publisher.topic_name}')

    def start(self) -> bool:
        """Begin; there is nothing to prepare."""
        return True

    def finish(self) -> None:
        """End; there is nothing to save."""

    def _subscribe(self, sensor: Sensor, reliability: str) -> None:
        profile = QoSProfile(
            depth=QUEUE_LENGTH.get(sensor.extractor.sensor, 5),
            reliability=ReliabilityPolicy[reliability.upper()])
        subscription = self.create_subscription(
            getattr(sensor_msgs.msg, sensor.message_type.rpartition('/')[2]), sensor.topic,
            partial(self._on_message, sensor.name), profile,
            event_callbacks=SubscriptionEventCallbacks(
                incompatible_qos=partial(self._on_incompatible_qos, sensor)))
        self._topics[sensor.name] = subscription.topic_name

    def _on_message(self, name: str, message: Any) -> None:
        try:
            samples = self._pipeline.push(name, message, self.get_clock().now().nanoseconds)
        except BadSensorDataError as error:
            self._warnings.say((name, error.cause), f'{self._topics[name]}: {error}')
            return
        for sample in samples:
            self._publisher.publish(feature_message(sample))
            self._health.published.count()

    def _on_incompatible_qos(self, sensor: Sensor, event: Any) -> None:
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        text = f'a publisher of {self._topics.get(sensor.name, sensor.topic)} has another {policy}'
        advice = f'set the parameter {sensor.name}.reliability to best_effort'
        self._health.incompatible[sensor.name] = f'{text}; {advice}'
        self.get_logger().warning(
            f'{text}: nothing is received from it; {advice} or change the publisher')

    def _report(self) -> None:
        """Publish diagnostics, and warn where a topic carries another type than expected."""
        for sensor in self._pipeline.sensors:
            publishers = self.get_publishers_info_by_topic(self._topics[sensor.name])
            types = {publisher.topic_type for publisher in publishers}
            if self._health.note_publishers(sensor, types):
                self._warnings.say(
                    (sensor.name, 'other_type'),
                    f'{self._topics[sensor.name]} carries {", ".join(sorted(types))}, not '
                    f'{sensor.message_type}; set the parameter {sensor.name}.type')
        message = DiagnosticArray(status=[self._health.status(time.monotonic_ns())])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)


def feature_message(sample: FeatureSample) -> FeatureVector:
    """Return the message of a joined sample."""
    moment = StampedVector(sample.stamp, sample.values, sample.extractor)
    return feature_vector_message(RosMessages(), moment, sample.frame_id)


def main(args: list[str] | None = None) -> int:
    """Run the node until it is told to stop; return the exit code."""
    # Waiting for helper threads on busy cores costs more than they bring to small images.
    cv2.setNumThreads(1)
    return run(FeatureNode, args)


if __name__ == '__main__':
    sys.exit(main())
