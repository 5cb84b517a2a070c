# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The trial in small: each fault once, under random operations and a hostile peer; shrinking."""

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('proemlc_ros.msg')

import json
import random
from pathlib import Path

from random_lives import draw, draw_end, shrink, what_failed


def drawn(seed, lives=30):
    """Return the steps of some lives of twenty, as files have them."""
    dice = random.Random(seed)
    steps = []
    for life in range(lives):
        steps += [draw(dice, len(steps) + place, 30, place % 5 == 0) for place in range(20)]
        steps.append(draw_end(dice, life))
    return json.loads(json.dumps(steps))


def holds_in_order(steps, *wanted):
    """Whether steps that begin with these words follow each other, others between them."""
    rest = iter(steps)
    return all(any(step[:len(one)] == one for step in rest) for one in wanted)


@pytest.mark.parametrize('wanted', [
    [['merge'], ['end', 'full disk'], ['undo']],
    [['end', 'SIGTERM'], ['misbehave', 2], ['end', 'kill']],
    [['redo']]])
@pytest.mark.parametrize('seed', [1, 2, 3])
def test_a_planted_failure_is_shrunk_to_the_steps_that_it_needs(wanted, seed):
    steps, tried = drawn(seed), []

    def fails(some):
        tried.append(len(some))
        return holds_in_order(some, *wanted)
    found = shrink(steps, fails)
    assert [step[:len(one)] for step, one in zip(found, wanted, strict=True)] == wanted
    assert holds_in_order(steps, *([*step] for step in found)), 'not steps of the run'
    assert len(tried) < len(steps) / 3, 'as many replays as single steps would need'


def test_steps_that_pass_when_they_are_done_again_are_left_whole():
    steps, tried = drawn(4, lives=3), []
    assert shrink(steps, tried.append) == steps == tried[-1]
    assert len(tried) == 3


def test_only_the_same_failure_counts():
    text = 'Traceback …\nAssertionError: {} lost, 0 twice: Counter({{}})\nmore\n'.format
    assert what_failed(text(6)) == what_failed(text(17)) == ' lost,  twice'
    assert what_failed("ValueError: 'x'\n") == 'ValueError'
    assert what_failed('seed 3: 4 lives') == ''


@pytest.mark.slow
def test_random_operations_faults_and_peers_lose_nothing(start_process, measured):
    process = start_process('python', Path(__file__).with_name('random_lives.py'),
                            '--minutes', '0', '--seed', '3', '--shrink-replays', '0')
    measured(process.wait_for(r'seed 3: 4 lives .*none lost, none twice.*', 540)[0])
    assert process.wait() == 0, process.output
