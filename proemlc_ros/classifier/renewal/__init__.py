# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewal of the running model from the journal, in the background; see docs/node.md."""
