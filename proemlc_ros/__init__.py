# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A multi-label classifier for ROS 2 that learns new labels while the robot runs."""

from pkgutil import extend_path

# The generated msg and srv modules are installed beside, not inside, a source checkout.
__path__ = extend_path(__path__, __name__)
