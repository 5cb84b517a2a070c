# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The web page: who may open it, what is sent to it, what it may request."""
