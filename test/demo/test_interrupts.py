# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM in a program that has processes to end."""

import os
import signal
import threading

import pytest

from proemlc_ros.demo.interrupts import ENDING, Interrupts


@pytest.fixture(autouse=True)
def heard():
    """Let both signals be heard, also where the tests run in the background of a shell."""
    earlier = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', ENDING)
def test_both_signals_interrupt(number):
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize('number', ENDING)
def test_one_that_comes_in_a_step_is_raised_after_it(number):
    done = False
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        with interrupts.deferred():
            os.kill(os.getpid(), number)
            done = True
    assert done


def test_one_that_comes_while_all_is_ended_is_forgotten():
    with Interrupts() as interrupts:
        with interrupts.ignored():
            os.kill(os.getpid(), signal.SIGTERM)
        with interrupts.deferred():
            pass


def test_the_earlier_handlers_come_back_and_ignored_signals_stay_ignored():
    earlier = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        before = [signal.getsignal(number) for number in ENDING]
        with Interrupts():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) != before[0]
        assert [signal.getsignal(number) for number in ENDING] == before
    finally:
        signal.signal(signal.SIGTERM, earlier)


def test_in_another_thread_it_does_nothing():
    before = signal.getsignal(signal.SIGINT)

    def work():
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
