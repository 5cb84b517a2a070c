# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of bytes with padding between them, as images and clouds are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError


def byte_rows(
    data: Any, rows: int, row_bytes: int, step: int, sensor: str,
) -> NDArray[np.uint8]:
    """Return the bytes of each row without padding, as a view that cannot be written to.

    Args:
        data: the message's data.
        rows: how many rows there are.
        row_bytes: bytes of a row without padding.
        step: bytes from one row to the next, at least row_bytes.
        sensor: image or cloud, for the error.

    Raises:
        BadSensorDataError: truncated_image or truncated_cloud.

    """
    stored = np.frombuffer(data, np.uint8)
    needed = step * (rows - 1) + row_bytes
    if len(stored) < needed:
        raise BadSensorDataError(
            f'truncated_{sensor}', f'the {sensor} has {len(stored)} bytes of data; {rows} rows of '
            f'{row_bytes} bytes, {step} apart, need {needed}')
    # Reshaping would need the padding of the last row, which may be missing.
    return np.lib.stride_tricks.as_strided(
        stored, (rows, row_bytes), (step, 1), writeable=False)
