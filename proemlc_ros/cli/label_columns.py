# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are labels, as said on a command line."""

from __future__ import annotations


def label_columns(text: str | None) -> int | tuple[str, ...] | None:
    """Read the value of --labels: a number of columns, or names separated by commas.

    >>> label_columns('3'), label_columns('cup,red'), label_columns(None)
    (3, ('cup', 'red'), None)
    """
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return tuple(name.strip() for name in text.split(','))
