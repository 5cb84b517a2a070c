# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The bare node of the comparison: the same messages, and nothing done with them."""

from __future__ import annotations

import sys
from array import array

import rclpy
from proemlc_ros.msg import FeatureVector, Prediction
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data


def main(labels: int) -> None:
    """Answer each vector with that many scores."""
    rclpy.init()
    node = Node('echo')
    scores = array('f', [0.0] * labels)
    publisher = node.create_publisher(Prediction, '~/predictions', qos_profile_sensor_data)

    def reply(message: FeatureVector) -> None:
        publisher.publish(Prediction(header=message.header, scores=scores))
    node.create_subscription(FeatureVector, '~/features', reply, qos_profile_sensor_data)
    print('up', flush=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


if __name__ == '__main__':
    main(int(sys.argv[1]))
