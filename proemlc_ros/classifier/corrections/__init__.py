# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections of what was taught: relabel, delete, merge, undo, redo, and what shows them."""
