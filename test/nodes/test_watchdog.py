# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A node that stands still within the middleware ends, says where, and can be started again."""

import signal
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from sensor_partner import CAMERA

# As a call that never returns: it holds the interpreter, and no other thread runs any more.
STANDS = """
import ctypes, sys
from contextlib import nullcontext
import rclpy
from rclpy.node import Node
from proemlc_ros.nodes.process import run_program, spinning
from proemlc_ros.nodes.watchdog import watched

class Example(Node):
    def __init__(self):
        super().__init__('example')
        self.turns = 0
        self.create_timer(0.5, self.turn)

    def turn(self):
        self.turns += 1
        print('turns', self.turns, flush=True)
        if sys.argv[1] == 'stands still' and self.turns == 2:
            ctypes.PyDLL(None).sleep(1000)

def work(signals):
    node = Example()
    with watched(node, 2), spinning(node, signals):
        signals.wait()
    return True

sys.exit(run_program(work))
"""


def test_one_that_stands_still_is_ended_and_tells_where(start_process):
    process = start_process('python', '-c', STANDS, 'stands still')
    assert process.wait() == -signal.SIGALRM, process.output
    assert 'in turn' in process.output


def test_one_that_goes_on_is_left_alone(start_process):
    process = start_process('python', '-c', STANDS, 'goes on')
    process.wait_for('turns 10')  # more than twice as long
    assert process.stop(signal.SIGINT) == 0, process.output


def test_the_feature_node_is_watched(feature_node):
    node = feature_node(CAMERA)
    node.wait_for('colour_moments')
    status = Path(f'/proc/{node.process.pid}/status').read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith('SigCgt')]
    assert int(caught, 16) >> (signal.SIGALRM - 1) & 1
