# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures in a folder: which there are, in the order a person expects, and what they show."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from proemlc_ros.errors import BadSensorDataError, DataSetError
from proemlc_ros.features.image_arrays import check_pixel_count

Pixels = NDArray[np.uint8]
SUFFIXES = frozenset({'.jpg', '.jpeg', '.png', '.bmp', '.webp', '.tif', '.tiff', '.ppm', '.pgm'})
# Bytes of a picture file; larger ones are no camera pictures.
MAX_BYTES = 100_000_000


def natural_key(path: Path) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers in names by their value.

    >>> sorted([Path('b10.png'), Path('b9.png')], key=natural_key)[0].name
    'b9.png'
    """
    return [(0, int(part), '') if part.isdigit() else (1, 0, part.casefold())
            for part in re.split(r'(\d+)', path.as_posix()) if part]


def picture_files(folder: Path) -> list[Path]:
    """Return the picture files in a folder and below, in natural order; hidden ones are left out.

    Raises:
        DataSetError: it is not a folder, or there is no picture in it.
    """
    if not folder.is_dir():
        word = 'is a file, not a folder' if folder.exists() else 'there is no such folder'
        raise DataSetError(f'{folder}: {word}')
    found = [path for path in folder.rglob('*')
             if path.suffix.lower() in SUFFIXES and path.is_file()
             and not any(part.startswith('.') for part in path.relative_to(folder).parts)]
    if not found:
        raise DataSetError(f'{folder}: no picture in it; known are '
                           f'{", ".join(sorted(suffix[1:] for suffix in SUFFIXES))}')
    return sorted(found, key=natural_key)


def read_picture(path: Path) -> Pixels:
    """Return the RGB pixels (rows, columns, 3) of a picture file.

    Raises:
        DataSetError: it cannot be read, or is no picture.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataSetError(f'{path}: too large for a picture')
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise DataSetError(f'{path}: {error.strerror}') from error
    try:
        check_pixel_count(data.tobytes())
        pixels = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    except BadSensorDataError as error:
        raise DataSetError(f'{path}: {error}') from error
    except cv2.error as error:  # Of more pixels than OpenCV takes, in another format.
        raise DataSetError(f'{path}: cannot be decoded ({error.err})') from error
    if pixels is None:
        raise DataSetError(f'{path}: not a whole picture')
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


def scaled_down(pixels: Pixels, longest: int) -> Pixels:
    """Return pixels whose longest side is at most `longest`."""
    scale = longest / max(pixels.shape[:2])
    if scale >= 1:
        return pixels
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
