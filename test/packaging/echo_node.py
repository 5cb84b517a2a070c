# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The other side of the round trips: sends every message back, and every request in its answer."""

import rclpy
from interface_samples import LATCHED, message_types, sample, service_types
from rclpy.executors import ExternalShutdownException


def main():
    """Serve until the test ends the process."""
    rclpy.init()
    node = rclpy.create_node('echo')
    for name, kind in message_types().items():
        publisher = node.create_publisher(kind, f'back/{name}', LATCHED)
        node.create_subscription(kind, f'there/{name}', publisher.publish, LATCHED)
    for name, kind in service_types().items():
        def answer(request, response, kind=kind):
            equal = request == sample(kind.Request)
            return sample(kind.Response) if equal else response
        node.create_service(kind, f'call/{name}', answer)
    print('ready', flush=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
