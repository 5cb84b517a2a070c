# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a learner does with samples: learn them in order or at once, and take them back."""
