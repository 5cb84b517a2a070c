# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: a camera above a table, and an operator who annotates what lies on it."""
