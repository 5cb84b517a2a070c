# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What a node prints for --help: what it is for, and its parameters."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from proemlc_ros.nodes.parameter_table import Declared

_COLUMNS = 99


def help_wanted(args: Sequence[str] | None) -> bool:
    """Tell whether --help is among the arguments that are not for ROS."""
    words = list(sys.argv[1:] if args is None else args)
    ours = words[:words.index('--ros-args')] if '--ros-args' in words else words
    return '--help' in ours or '-h' in ours


def help_text(purpose: str, table: Iterable[Declared]) -> str:
    """Return the help of a node.

    Args:
        purpose: what the node is for, a sentence.
        table: its parameters.
    """
    program = Path(sys.argv[0]).stem
    lines = [f'usage: {program} [--ros-args [-p NAME:=VALUE] [--params-file FILE] '
             '[-r FROM:=TO] [-r __ns:=NAMESPACE] …]', '', purpose, '', 'parameters:']
    for entry in table:
        default = str(entry.default).lower() if isinstance(entry.default, bool) else entry.default
        text = f'{entry.description} (default: {default if default != "" else "empty"}'
        text += f'; {", ".join(entry.choices)})' if entry.choices else ')'
        lines.append(f'  {entry.name}')
        lines += textwrap.wrap(text, _COLUMNS, initial_indent=' ' * 6,
                               subsequent_indent=' ' * 6)
    return '\n'.join(lines)
