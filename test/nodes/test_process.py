# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How processes of nodes end: by signals, by their work, by faults."""

import signal

import pytest

pytest.importorskip('rclpy')

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
