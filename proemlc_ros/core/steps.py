# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Work that is done in steps: a generator that yields after each and returns the result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

Result = TypeVar('Result')
Steps: TypeAlias = Generator[None, None, Result]


def result_of(steps: Steps[Result]) -> Result:
    """Do all steps that are left; return what they lead to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
