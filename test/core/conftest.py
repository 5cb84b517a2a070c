# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Its folder is on the path, so that tests in folders below find core_reference."""
