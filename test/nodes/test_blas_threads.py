# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Every BLAS of the process is limited, that of NumPy and that of SciPy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

threadpoolctl = pytest.importorskip('threadpoolctl')

SCRIPT = """
import json, sys
import numpy, scipy.linalg
from proemlc_ros.nodes.classifier.blas_threads import limit_blas_threads
limited = limit_blas_threads(int(sys.argv[1]))
import threadpoolctl
print(json.dumps([limited, [pool['num_threads'] for pool in threadpoolctl.threadpool_info()
                            if pool['internal_api'] == 'openblas']]))
"""


@pytest.mark.parametrize(('given', 'expected'), [('1', 1), ('0', 2)])
def test_both_libraries_are_limited(monkeypatch, given, expected):
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', '2')
    done = subprocess.run([sys.executable, '-c', SCRIPT, given], capture_output=True, text=True,
                          check=True)
    limited, threads = json.loads(done.stdout)
    assert set(threads) == {expected}
    assert limited == (len(threads) if int(given) else 0)
