# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Times the classifier node over DDS against a bare rclpy echo node, in one run.

Every line is one measure:

    ./proemlc run python benchmarks/node [--only MEASURE]
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

from relabel import relabel
from reliability import reliability
from renewal import renewal
from round_trips import round_trips
from start_up import start_up
from stream import stream


def main() -> None:
    """Print one line a measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=2000, help='round trips a case')
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the stream')
    parser.add_argument('--starts', type=int, default=7, help='starts of each node')
    parser.add_argument('--activation', default='laplacian', help='of the hidden neurons')
    parser.add_argument('--only', choices=('round-trips', 'reliability', 'stream', 'start-up',
                                           'renewal', 'relabel'))
    arguments = parser.parse_args()
    if arguments.only in (None, 'start-up'):
        start_up(arguments.starts)
    if arguments.only in (None, 'round-trips'):
        round_trips(arguments.rounds, arguments.activation)
    if arguments.only in (None, 'reliability'):
        reliability(arguments.rounds, arguments.activation)
    if arguments.only in (None, 'stream'):
        stream(arguments.seconds, arguments.activation)
    if arguments.only in (None, 'renewal'):
        renewal(arguments.rounds)
    if arguments.only == 'relabel':  # It needs Chromium and the data sets.
        relabel()


if __name__ == '__main__':
    main()
