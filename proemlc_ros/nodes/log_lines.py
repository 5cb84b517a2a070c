# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of a node's log, written without a search through all that is imported.

A logger of rclpy asks `inspect` for the source of the line that logs. With its first line, and
whenever more was imported since, that resolves the path of every module: 50 ms in a classifier,
in which none of its threads does anything else.
"""

from __future__ import annotations

import sys
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import LoggingSeverity


def log_info(logger: Any, text: str) -> None:
    """Write what people may want to know to a logger of rclpy."""
    _write(logger, LoggingSeverity.INFO, text)


def log_warning(logger: Any, text: str) -> None:
    """Write a warning, likewise."""
    _write(logger, LoggingSeverity.WARN, text)


def log_error(logger: Any, text: str) -> None:
    """Write an error, likewise."""
    _write(logger, LoggingSeverity.ERROR, text)


def _write(logger: Any, severity: LoggingSeverity, text: str) -> None:
    if logger.is_enabled_for(severity):
        caller = sys._getframe(2)  # of log_info and the others
        rclpy_implementation.rclpy_logging_rcutils_log(
            severity, logger.name, text, caller.f_code.co_name, caller.f_code.co_filename,
            caller.f_lineno)
