# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Folders, videos and bags of pictures, and the labels that come with them."""
