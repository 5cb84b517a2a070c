# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs code in a process of its own with a limit on memory and time."""

import os
import resource
import subprocess
import sys


def run_limited(code, *arguments, megabytes, seconds):
    """Return the finished process; one that takes too long raises TimeoutExpired.

    Args:
        code: Python program.
        arguments: sys.argv[1:] of the program.
        megabytes: address space, libraries included.
        seconds: time on the clock.
    """
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    # Each thread of the BLAS reserves address space of its own.
    return subprocess.run([sys.executable, '-c', code, *map(str, arguments)], timeout=seconds,
                          capture_output=True, text=True, preexec_fn=limit,
                          env={**os.environ, 'OPENBLAS_NUM_THREADS': '1'})
