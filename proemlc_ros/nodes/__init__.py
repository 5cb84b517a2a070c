# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes; the only code that needs rclpy."""

import gc
import signal
import sys

# Here, since a node's own imports come behind this. Garbage collection waits for more objects
# than a node is made of: they stay, some 60,000 of them, and to look through them takes 20 ms.
gc.set_threshold(200_000, *gc.get_threshold()[1:])
if sys.argv[0].endswith('_node'):
    # A launch that ends while its nodes import would show their tracebacks; process.Signals takes
    # the signal afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
