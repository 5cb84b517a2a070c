# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the operator's nodes, dashboard and terminal, share."""
