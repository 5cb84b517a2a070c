# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Words of the command line."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where there is not just one.

    >>> counted(1, 'recording'), counted(0, 'label')
    ('1 recording', '0 labels')
    """
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'
