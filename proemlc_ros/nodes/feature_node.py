# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The feature node: sensor topics in, joined feature vectors and diagnostics out."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import cv2
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSPolicyKind
from sensor_msgs.msg import CompressedImage, Image, Imu, JointState, LaserScan, PointCloud2

from proemlc_ros.conversions import feature_vector_message
from proemlc_ros.errors import BadSensorDataError
from proemlc_ros.features.pipeline import FeatureSample, PreparedMessage, Sensor
from proemlc_ros.features.sensor_arrays import MESSAGE_TYPES
from proemlc_ros.msg import FeatureVector
from proemlc_ros.nodes.feature_parameters import declare_pipeline, feature_parameter_table
from proemlc_ros.nodes.feature_topics import (
    AnnotatedImages,
    FeatureDiagnostics,
    PipelineThread,
    RegionInputs,
)
from proemlc_ros.nodes.logs import ThrottledLog, errors_of, warnings_of
from proemlc_ros.nodes.parameters import help_text, help_wanted
from proemlc_ros.nodes.process import run
from proemlc_ros.nodes.ros_messages import RosMessages
from proemlc_ros.nodes.subscriptions import AUTOMATIC, MatchedSubscription
from proemlc_ros.records import StampedVector

# The classifier of the default name, in the same namespace, subscribes to this topic.
FEATURES_TOPIC = 'proemlc/features'
# Vectors kept for subscribers that are late.
QUEUE = 10
# Time windows need every sample; of images and clouds only the newest are worth the time.
QUEUE_LENGTH = {'imu': 200, 'joints': 100}
NEWEST = 5  # and one that is prepared beside the one that is extracted
MESSAGE_CLASSES = {
    f'sensor_msgs/msg/{message_class.__name__}': message_class
    for message_class in (CompressedImage, Image, Imu, JointState, LaserScan, PointCloud2)}


class FeatureNode(Node):
    """Subscribes to the sensors of its parameters and publishes their joined features."""

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
        self._diagnostics = FeatureDiagnostics(self._pipeline, self.get_fully_qualified_name())
        self._warnings = ThrottledLog(warnings_of(self.get_logger()), parameters.warning_period)
        # Reliable, since that serves subscribers of both kinds.
        self._publisher = self.create_publisher(
            FeatureVector, FEATURES_TOPIC, max(QUEUE, 2 * self._pipeline.regions.most))
        self._diagnostics_publisher = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        errors = ThrottledLog(errors_of(self.get_logger()), parameters.warning_period)
        # It alone touches the pipeline, except that messages are prepared for it.
        self._extraction = PipelineThread(
            'extraction', lambda text: errors.log('fault', f'a message was dropped: {text}'))
        self._subscriptions_of: dict[str, MatchedSubscription] = {}
        self._subscribe(parameters.reliability)
        # The first sensor leads: the vectors have its stamps.
        self._source = self._topic(self._pipeline.sensors[0].name)
        self._regions = RegionInputs(
            self, self._pipeline, self._publish, self._warnings, self._extraction.put)
        self._annotated = AnnotatedImages(
            self, self._pipeline.sensors, self._publisher.topic_name.rpartition('/')[0])
        self._regions.check()
        self.create_timer(1.0, self._report)
        self.get_logger().info(
            f'{self._pipeline.extractor} from '
            f'{", ".join(map(self._topic, self._subscriptions_of))} '
            f'to {self._publisher.topic_name}')

    def start(self) -> bool:
        """Begin; there is nothing to prepare."""
        return True

    def finish(self) -> None:
        """End once the last vector is published; there is nothing to save."""
        self._extraction.close()

    def _subscribe(self, reliability: Mapping[str, str]) -> None:
        """Subscribe to each topic once, for all sensors that it feeds."""
        fed: dict[tuple[str, str, str], list[Sensor]] = {}
        for sensor in self._pipeline.sensors:
            fed.setdefault((sensor.topic, sensor.message_type, reliability[sensor.name]),
                           []).append(sensor)
        for (topic, message_type, wanted), sensors in fed.items():
            subscription = MatchedSubscription(
                self, MESSAGE_CLASSES[message_type], topic,
                partial(self._on_message, [sensor.name for sensor in sensors]),
                max(QUEUE_LENGTH.get(sensor.extractor.sensor, NEWEST) for sensor in sensors),
                wanted, None if wanted == AUTOMATIC else SubscriptionEventCallbacks(
                    incompatible_qos=partial(self._on_incompatible_qos, sensors[0])),
                types=MESSAGE_TYPES[sensors[0].extractor.sensor])
            self._subscriptions_of.update({sensor.name: subscription for sensor in sensors})

    def _topic(self, name: str) -> str:
        """Return the full name of a sensor's topic."""
        return self._subscriptions_of[name].topic_name

    def _on_message(self, names: Sequence[str], message: Any) -> None:
        arrival = self.get_clock().now().nanoseconds
        for name in names:
            self._annotated.add(name, message)
            prepared = self._pipeline.prepare(name, message, arrival)
            self._extraction.put(partial(self._extract, name, prepared))

    def _extract(self, name: str, prepared: PreparedMessage) -> None:
        try:
            samples = self._pipeline.finish(prepared)
        except BadSensorDataError as error:
            self._warnings.log((name, error.cause), f'{self._topic(name)}: {error}')
            return
        self._publish(samples)
        self._regions.note_rejects()

    def _publish(self, samples: Sequence[FeatureSample]) -> None:
        for sample in samples:
            self._publisher.publish(_feature_message(sample, self._source))
            self._diagnostics.published.count()

    def _on_incompatible_qos(self, sensor: Sensor, event: Any) -> None:
        policy = QoSPolicyKind(event.last_policy_kind).name.lower()
        topic = self._topic(sensor.name)
        text = f'a publisher of {topic} has an incompatible {policy}'
        advice = f'set the parameter {sensor.name}.reliability to best_effort'
        self._extraction.put(partial(
            self._diagnostics.incompatible.update, {sensor.name: f'{text}; {advice}'}))
        self.get_logger().warning(
            f'{text}: nothing is received from it; {advice} or change the publisher')

    def _report(self) -> None:
        """Follow publishers and subscribers, and publish diagnostics."""
        self._regions.check()
        self._annotated.check()
        types: dict[str, set[str]] = {}
        for sensor in self._pipeline.sensors:
            self._subscriptions_of[sensor.name].check()
            publishers = self.get_publishers_info_by_topic(self._topic(sensor.name))
            types[sensor.name] = {publisher.topic_type for publisher in publishers}
        self._extraction.put(partial(self._publish_diagnostics, types))

    def _publish_diagnostics(self, types: Mapping[str, Collection[str]]) -> None:
        """Publish diagnostics, and warn of topics with another type than expected."""
        for sensor in self._pipeline.sensors:
            if self._diagnostics.note_publishers(sensor, types[sensor.name]):
                self._warnings.log(
                    (sensor.name, 'other_type'),
                    f'{self._topic(sensor.name)} carries {", ".join(sorted(types[sensor.name]))}, '
                    f'not {sensor.message_type}; set the parameter {sensor.name}.type')
        message = DiagnosticArray(status=[self._diagnostics.status(time.monotonic_ns())])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics_publisher.publish(message)


def _feature_message(sample: FeatureSample, source: str = '') -> FeatureVector:
    """Return the message of a joined sample.

    Args:
        sample: from the pipeline.
        source: full name of the topic of the leading sensor, whose stamp it has.
    """
    vector = StampedVector(sample.stamp, sample.values, sample.extractor, source,
                           sample.region, sample.region_count)
    return feature_vector_message(RosMessages(), vector, sample.frame_id)


def main(args: list[str] | None = None) -> int:
    """Run the node until it is stopped; return the exit code."""
    if help_wanted(args):
        print(help_text('Makes feature vectors of sensor messages. For each sensor NAME:',
                        feature_parameter_table()))
        return 0
    # Waiting for helper threads on busy cores costs more than they bring to small images.
    cv2.setNumThreads(1)
    return run(FeatureNode, args, watch=True)


if __name__ == '__main__':
    sys.exit(main())
