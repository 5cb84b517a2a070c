# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model that survives crashes: journal, snapshots, model files, resuming."""
