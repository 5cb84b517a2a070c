# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The thread of the second half: order, one piece of work at a time, errors, and the end."""

import threading
import time

import pytest
from ros_process import DEADLINE

from proemlc_ros.nodes.feature_topics import PipelineThread


@pytest.fixture
def errors():
    return []


@pytest.fixture
def thread(errors):
    thread = PipelineThread('second half', errors.append)
    yield thread
    thread.close()


def test_work_is_done_in_order_in_another_thread(thread):
    done = []
    for number in range(200):
        thread.put(lambda number=number: done.append((number, threading.current_thread().name)))
    thread.close()
    assert done == [(number, 'second half') for number in range(200)]


def test_nothing_queues_up_beside_the_work_under_way(thread):
    go, handed_over = threading.Event(), []

    def hand_over():
        for number in range(3):
            thread.put(go.wait)
            handed_over.append(number)

    giver = threading.Thread(target=hand_over)
    giver.start()
    deadline = time.monotonic() + DEADLINE
    while not handed_over:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    giver.join(0.5)
    # The first is under way; the giver holds the second, and has not begun the third.
    assert giver.is_alive() and handed_over == [0]
    go.set()
    giver.join(DEADLINE)
    assert handed_over == [0, 1, 2]


def test_an_error_is_told_and_the_next_work_is_done(thread, errors):
    done = []
    thread.put(lambda: 1 / 0)
    thread.put(lambda: done.append('next'))
    thread.close()
    assert done == ['next']
    (text,) = errors
    assert text.startswith('ZeroDivisionError') and 'test_feature_inputs.py:' in text


def test_the_end_waits_for_the_last_work(thread):
    began, go, done = threading.Event(), threading.Event(), []

    def work():
        began.set()
        go.wait()
        done.append('last')

    thread.put(work)
    assert began.wait(DEADLINE)
    threading.Timer(0.2, go.set).start()
    thread.close()
    assert done == ['last']
    thread.close()  # again: nothing happens
