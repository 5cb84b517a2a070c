# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How processes of nodes run and end: by signals, by their work, by faults, by the watchdog."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from dashboard_stand import wait_until
from sensor_partner import CAMERA

HEAD = """
import asyncio, pathlib, sys, time
from rclpy.node import Node
from proemlc_ros.nodes.process import RunnableNode, run, run_program

class Example(Node, RunnableNode):
    def __init__(self):
        super().__init__('example')
        self.create_timer(0.01, self.tick)

    def tick(self):
        print('ticks', flush=True)
"""
SAVES = HEAD + """
class Saves(Example):
    def finish(self):
        print('saving', flush=True)
        while not pathlib.Path(sys.argv[1]).exists():
            time.sleep(0.01)
        print('saved', flush=True)

sys.exit(run(Saves))
"""
WORKS = HEAD + """
class Works(Example):
    async def work(self):
        while sys.argv[1] == 'for ever':
            await pause_in_executor(self)
        print('worked', flush=True)

async def pause_in_executor(node):
    from rclpy.task import Future
    pause = Future(executor=node.executor)
    timer = node.create_timer(0.01, lambda: pause.done() or pause.set_result(None))
    await pause
    node.destroy_timer(timer)

sys.exit(run(Works, work=Works.work))
"""
FAILS = HEAD + """
class Fails(Example):
    def tick(self):
        raise KeyError('the cause')

sys.exit(run(Fails))
"""
WAITS = HEAD + """
async def wait(signals):
    print('waits', flush=True)
    await signals.wait_async()
    print('ends', flush=True)
    return True

sys.exit(run_program(lambda signals: asyncio.run(wait(signals))))
"""


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_second_signal_does_not_interrupt_saving(start_process, tmp_path, number):
    process = start_process('python', '-c', SAVES, tmp_path / 'go on')
    process.wait_for('ticks')
    process.process.send_signal(number)
    process.wait_for('saving')
    for again in (number, signal.SIGINT, signal.SIGTERM):
        process.process.send_signal(again)
    (tmp_path / 'go on').touch()
    assert process.wait() == 0, process.output
    assert 'saved' in process.output and 'Traceback' not in process.output


def test_process_ends_with_the_work_of_its_node(start_process):
    process = start_process('python', '-c', WORKS, 'once')
    assert process.wait() == 0, process.output
    assert 'worked' in process.output


def test_interrupted_work_is_a_failure(start_process):
    process = start_process('python', '-c', WORKS, 'for ever')
    process.wait_for('ticks')
    assert process.stop(signal.SIGINT) == 1, process.output


def test_failing_callback_ends_the_process_with_its_cause(start_process):
    process = start_process('python', '-c', FAILS)
    assert process.wait() == 1
    assert "KeyError: 'the cause'" in process.output


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_wait_of_an_asyncio_program(start_process, number):
    process = start_process('python', '-c', WAITS)
    process.wait_for('waits')
    assert process.stop(number) == 0, process.output
    assert 'ends' in process.output


STUCK = HEAD + """
class Stuck(Example):
    def start(self):
        print('starting', flush=True)
        time.sleep(1000 if sys.argv[1] == 'start' else 0)
        return True

    def tick(self):
        print('ticks', flush=True)
        time.sleep(1000 if sys.argv[1] == 'tick' else 0)

    def finish(self):
        time.sleep(1000 if sys.argv[1] == 'finish' else 0)

sys.exit(run(Stuck))
"""


@pytest.mark.parametrize('where', ['start', 'tick', 'finish'])
def test_a_signal_ends_a_process_whatever_it_does(start_process, where):
    process = start_process('python', '-c', STUCK, where)
    process.wait_for('starting' if where == 'start' else 'ticks')
    assert process.stop(signal.SIGTERM) == 0, process.output
    assert 'Everything acknowledged is in the journal' in process.output


def test_a_signal_during_the_imports_is_heard_after_them(start_process):
    """A launch that ends at once shows no tracebacks of its nodes."""
    process = start_process('python', '-c', """
import os, signal, sys
sys.argv[0] = '/somewhere/feature_node'
import proemlc_ros.nodes
os.kill(os.getpid(), signal.SIGINT)
""" + HEAD + """
sys.exit(run(Example))
""")
    assert process.wait() == 0, process.output
    assert 'Traceback' not in process.output and 'KeyboardInterrupt' not in process.output


# ----- the watchdog -----

# As a call that never returns: it holds the interpreter, and no other thread runs any more.
STANDS = """
import ctypes, sys
from contextlib import nullcontext
import rclpy
from rclpy.node import Node
from proemlc_ros.nodes.process import run_program, spinning, watched

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
    status = Path(f'/proc/{node.process.pid}/status')

    def is_watched():
        (caught,) = [line.split()[1] for line in status.read_text().splitlines()
                     if line.startswith('SigCgt')]
        return int(caught, 16) >> (signal.SIGALRM - 1) & 1
    wait_until(is_watched, 'the handler of SIGALRM')


def test_time_in_which_it_was_stopped_does_not_count(start_process):
    process = start_process('python', '-c', STANDS, 'goes on')
    process.wait_for('turns 3')
    process.process.send_signal(signal.SIGSTOP)
    time.sleep(4)  # twice its patience
    process.process.send_signal(signal.SIGCONT)
    process.wait_for('turns 6')
    assert process.stop(signal.SIGINT) == 0, process.output


# ----- garbage and BLAS -----

LIMITS = """
import json, sys
import numpy, scipy.linalg
from proemlc_ros.nodes.process import limit_blas_threads
limited = limit_blas_threads(int(sys.argv[1]))
import threadpoolctl
print(json.dumps([limited, [pool['num_threads'] for pool in threadpoolctl.threadpool_info()
                            if pool['internal_api'] == 'openblas']]))
"""


@pytest.mark.parametrize(('given', 'expected'), [('1', 1), ('0', 2)])
def test_both_blas_libraries_are_limited(monkeypatch, given, expected):
    pytest.importorskip('threadpoolctl')
    if len(os.sched_getaffinity(0)) < expected:
        pytest.skip('OpenBLAS takes no more threads than there are processors')
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', '2')
    done = subprocess.run([sys.executable, '-c', LIMITS, given], capture_output=True, text=True,
                          check=True)
    limited, threads = json.loads(done.stdout)
    assert set(threads) == {expected}
    assert limited == (len(threads) if int(given) else 0)


def test_garbage_is_collected_rarely_and_not_never():
    from proemlc_ros.nodes import process

    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        process._collect_rarely()
        assert gc.get_threshold()[0] == 20_000 and gc.get_freeze_count() > frozen
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()
