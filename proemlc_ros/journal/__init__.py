# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The journal of a classifier: a bag that proves its entries, with its checks and repairs."""
