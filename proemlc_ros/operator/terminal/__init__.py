# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The terminal: what is on the screen, and what the keys do."""
