# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Every error that a user of the package can meet, by name."""


class ProEMLCError(Exception):
    """Base of all errors of this package; its text says what was wrong and what to do."""
