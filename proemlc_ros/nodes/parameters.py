# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters declared once: name, default, description, range, and whether they may change."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from proemlc_ros.errors import ParameterError


class Declared(NamedTuple):
    """One parameter.

    Args:
        name: as users write it.
        default: its type is the parameter's type.
        description: noun first, with unit and range, as in 'Forgetting factor, 0 to 1; 1 = off'.
        least: smallest value of a number; only together with `most`.
        most: largest value of a number; only together with `least`.
        choices: allowed texts; empty = any.
        runtime: whether it may change while the node runs.
    """

    name: str
    default: bool | int | float | str
    description: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    runtime: bool = False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Smallest and largest value; None where any is allowed."""
        if self.least is None or self.most is None:
            return None
        return self.least, self.most

    def check(self, value: object) -> None:
        """Check a value.

        Raises:
            ParameterError: not allowed; the text has the name, the value and what is allowed.
        """
        if type(value) is not type(self.default):
            raise ParameterError(f'{self.name} is {value!r}; it must be of type '
                                 f'{type(self.default).__name__}')
        if self.choices and value not in self.choices:
            raise ParameterError(f'{self.name} is {value!r}; it must be one of '
                                 f'{", ".join(self.choices)}')
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f'{self.name} is {value!r}; it must be a finite number')
        if self.bounds and isinstance(value, (int, float)):
            least, most = self.bounds
            if not least <= value <= most:
                raise ParameterError(
                    f'{self.name} is {value!r}; it must be from {least:.10g} to {most:.10g}')

    def descriptor(self) -> ParameterDescriptor:
        """Return what `ros2 param describe` shows."""
        constraints = f'one of {", ".join(self.choices)}' if self.choices else ''
        descriptor = ParameterDescriptor(
            name=self.name, description=self.description, read_only=not self.runtime,
            additional_constraints=constraints)
        if self.bounds and isinstance(self.default, float):
            least, most = map(float, self.bounds)
            descriptor.floating_point_range = [FloatingPointRange(from_value=least, to_value=most)]
        elif self.bounds:
            first, last = map(int, self.bounds)
            descriptor.integer_range = [IntegerRange(from_value=first, to_value=last, step=1)]
        return descriptor


# Parameters that rclpy declares by itself.
OF_EVERY_NODE = {'use_sim_time', 'start_type_description_service', 'qos_overrides'}
OTHER_NODES = ('A parameter file for several nodes has a section for each, such as '
               '"/**/features:".')


class ParameterTable:
    """Declares parameters on a node and keeps their values.

    Args:
        node: that declares them; made with automatically_declare_parameters_from_overrides, or
            what is given on the command line has no effect.
        table: all parameters of the node.
        on_change: called with all values after one has changed at run time.
        is_open: returns whether also those may change that may not at run time; None: never.

    Raises:
        ParameterError: an initial value is not allowed, or a parameter unknown.
    """

    def __init__(self, node: Node, table: Iterable[Declared],
                 on_change: Callable[[SimpleNamespace], None],
                 is_open: Callable[[], bool] | None = None) -> None:
        self._table = {entry.name: entry for entry in table}
        self._on_change = on_change
        self._is_open = is_open
        self.values = SimpleNamespace()
        self._check_known(node)
        for entry in self._table.values():
            setattr(self.values, entry.name, self._declare(node, entry))
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def _declare(self, node: Node, entry: Declared) -> Any:
        # The override is checked here, not by rclpy: our error says what is allowed.
        if node.has_parameter(entry.name):
            value = node.get_parameter(entry.name).value
            node.undeclare_parameter(entry.name)
            if isinstance(entry.default, float) and type(value) is int:
                value = float(value)  # "1" for "1.0" in a file is what people write.
            elif value is False and entry.choices and 'off' in entry.choices:
                value = 'off'  # YAML reads a bare off as false.
            entry.check(value)
        else:
            value = entry.default
        descriptor = entry.descriptor()
        descriptor.read_only = not entry.runtime and self._is_open is None
        node.declare_parameter(entry.name, value, descriptor, ignore_override=True)
        return value

    def _check_known(self, node: Node) -> None:
        """Check that there is no misspelt parameter: its default would be used silently."""
        for name in sorted(node.get_parameters_by_prefix('')):
            if name in self._table or name.partition('.')[0] in OF_EVERY_NODE:
                continue
            from difflib import get_close_matches  # A node without mistakes starts without it.

            near = get_close_matches(name, self._table, 1)
            meant = f'; did you mean {near[0]}?' if near else '.'
            raise ParameterError(f'{name} is not a parameter of this node{meant} {OTHER_NODES}')

    def _check(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name in self._table:
                    self._check_one(self._table[parameter.name], parameter.value)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _check_one(self, entry: Declared, value: Any) -> None:
        if not entry.runtime and self._is_open is not None and not self._is_open():
            raise ParameterError(f'{entry.name} can change only while the node is unconfigured; '
                                 'clean it up first, then configure it again')
        entry.check(value)

    def _apply(self, parameters: Sequence[Parameter]) -> None:
        ours = [parameter for parameter in parameters if parameter.name in self._table]
        for parameter in ours:
            setattr(self.values, parameter.name, parameter.value)
        if ours:
            self._on_change(self.values)


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
