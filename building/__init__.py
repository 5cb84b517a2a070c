# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How setup.py builds the package: the interfaces, and the setuptools commands around them."""
