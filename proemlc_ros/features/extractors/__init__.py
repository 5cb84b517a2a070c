# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One module per kind of feature: a sensor message to a vector."""
