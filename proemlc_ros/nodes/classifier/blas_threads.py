# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The number of threads that matrix products use in this process.

The matrices of one classifier are too small to be shared out. Threads that wait for each other
take the processor from the other nodes, and on busy cores make each product many times slower.
NumPy and SciPy bring libraries of their own, each with its own threads.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

from proemlc_ros.core.solving.blas import library

_MAPS = Path('/proc/self/maps')
_LIBRARY = re.compile('lib.*blas')
# Builds of OpenBLAS mark their functions: those of NumPy and SciPy, and those for long integers.
_SETTERS = tuple(f'{prefix}openblas_set_num_threads{suffix}'
                 for prefix in ('scipy_', '') for suffix in ('64_', '', '_64'))


def limit_blas_threads(threads: int) -> int:
    """Limit the threads of every OpenBLAS that is loaded.

    Args:
        threads: 1 or more; 0 leaves it to the libraries.

    Returns:
        How many libraries were limited; 0 where another BLAS is used.
    """
    if threads < 1:
        return 0
    library('blas')  # SciPy's is loaded with the first module that needs it.
    setters = [setter for path in _loaded_libraries() if (setter := _setter(path)) is not None]
    for setter in setters:
        setter(threads)
    return len(setters)


def _loaded_libraries() -> set[str]:
    try:
        lines = _MAPS.read_text(errors='replace').splitlines()
    except OSError:
        return set()  # Not Linux.
    paths = {line[line.index('/'):] for line in lines if '/' in line}
    return {path for path in paths if _LIBRARY.match(path.rpartition('/')[2])}


def _setter(path: str) -> Callable[[int], None] | None:
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for name in _SETTERS:
        setter: Callable[[int], None] | None = getattr(library, name, None)
        if setter is not None:
            return setter
    return None
