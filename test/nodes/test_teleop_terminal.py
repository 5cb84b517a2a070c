# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Teleop in a real terminal, with the real classifier over DDS."""

import signal
import time

import numpy as np
import pytest

pytest.importorskip('pexpect', reason='needs pexpect (pip install pexpect)')
pytest.importorskip('pyte', reason='needs pyte (pip install pyte)')

from dashboard_stand import Stand, wait_until
from terminal_stand import DEADLINE, Terminal

from proemlc_ros.bags.reader import BagReader
from proemlc_ros.conversions import annotation_of

TELEOP = ('-m', 'proemlc_ros.nodes.teleop_node')
ANNOTATOR = ('--ros-args', '-p', 'annotator:=ann')


@pytest.fixture
def terminal(stand):
    opened = open_terminal(stand)
    yield opened
    opened.close()


def open_terminal(stand):
    """Start teleop, and wait until it shows a vector that the listener has as well."""
    opened = Terminal(*TELEOP, *ANNOTATOR)
    opened.wait_for('connected')
    leave_the_field(opened)
    stand.listener.wait_connected()
    newest = stand.listener.newest()
    wait_until(lambda: opened.wait_for(r'LIVE +(\S+)')[1] in {
        clock(stamp) for stamp in list(stand.listener.vectors) if stamp > newest},
        'a newer prediction')
    wait_until(lambda: receives_vectors(opened), 'feature vectors')
    return opened


def leave_the_field(terminal):
    """Before the first label there is a field to type into; Esc gives the keys back.

    The field comes with the first labels of the classifier; what it says to do may stand before.
    """
    terminal.wait_for('Show a thing, type its name, hold Enter')
    terminal.wait_for(r'name \(Esc: other keys\)')
    terminal.send('\x1b')
    terminal.wait_for('q quit')


def receives_vectors(terminal):
    """Freeze, return whether the feature vector is there, and go back to live."""
    terminal.send(' ')
    received = 'no features' not in terminal.wait_for('HELD.*unmarked labels')[0]
    terminal.send('\x1b')
    terminal.wait_for('LIVE')
    return received


def clock(stamp):
    """Return a stamp as the screen shows it."""
    seconds = time.strftime('%H:%M:%S', time.localtime(stamp // 10**9))
    return f'{seconds}.{stamp // 10**7 % 100:02d}'


def journalled(stand):
    """Return the annotations in the classifier's journal."""
    with BagReader(stand.models / 'journal') as bag:
        topics = bag.of_type('proemlc_ros/msg/LabelAnnotation')
        return [annotation_of(message) for _, _, message in bag.messages(topics)]


def assert_learnt_what_was_shown(stand):
    annotations = journalled(stand)
    assert annotations
    for annotation in annotations:
        vector = stand.listener.wait_vector(annotation.stamp)
        assert np.array_equal(annotation.features, vector.data)


def test_annotating(terminal, stand):
    type_new_labels(terminal, stand.listener)
    mark_present_and_absent(terminal, stand.listener)
    take_the_near_duplicate_and_undo(terminal, stand.listener)
    terminal.send('skitchen\r')
    terminal.wait_for('kitchen.npz')
    assert (stand.models / 'kitchen.npz').exists()
    terminal.send('Rcu\t\r\x15mug\r')
    terminal.wait_for('1 .*mug')
    terminal.send('q')
    assert terminal.wait() == 0
    assert_learnt_what_was_shown(stand)


def type_new_labels(terminal, listener):
    terminal.send('n')
    frozen_at = terminal.wait_for(r'HELD (\S+)')[1]
    listener.show('B')  # the stream goes on while the operator types
    terminal.send('cup\r')
    terminal.wait_for("learnt: 'cup'")
    annotation = listener.wait_learnt(1)
    assert (annotation.labels, annotation.annotator) == (('cup',), 'ann')
    assert annotation.complete
    assert clock(annotation.stamp) == frozen_at

    terminal.wait_for('LIVE')
    terminal.send('nbowl, 茶杯 é\r')
    terminal.wait_for("learnt: 'bowl'")
    assert listener.wait_learnt(2).labels == ('bowl', '茶杯 é')
    terminal.wait_for('3 labels')


def mark_present_and_absent(terminal, listener):
    terminal.send(' ')
    terminal.wait_for('HELD')
    terminal.send('2')
    terminal.wait_for('✓ bowl')
    terminal.send('11')
    terminal.wait_for('✗ cup')
    terminal.wait_for('unmarked labels: unknown')
    frozen_at = terminal.wait_for(r'HELD (\S+)')[1]
    terminal.send('\r')
    terminal.wait_for("learnt: 'bowl', not 'cup'")
    annotation = listener.wait_learnt(3)
    assert (annotation.labels, annotation.absent) == (('bowl',), ('cup',))
    assert not annotation.complete
    assert clock(annotation.stamp) == frozen_at


def take_the_near_duplicate_and_undo(terminal, listener):
    terminal.send('ncups\r')
    terminal.wait_for('"cups" is nearly "cup"')
    terminal.send('1')
    assert listener.wait_learnt(4).labels == ('cup',)
    terminal.wait_for(' 4 samples')
    terminal.send('u')
    terminal.wait_for(' 3 samples')
    terminal.send('0')
    assert listener.wait_learnt(5).labels == ()


def freeze_with_features(terminal):
    """Freeze a moment of which the terminal has the features; first ones come before it hears."""
    while True:
        terminal.send(' ')
        if 'no features yet' not in terminal.wait_for(' HELD[^\n]*')[0]:
            return
        terminal.send(' ')
        terminal.wait_for(' LIVE')


@pytest.mark.slow
def test_slow_typing_outlives_the_buffer_of_the_classifier(start_process, ros, tmp_path):
    stand = Stand(start_process, ros, tmp_path)
    stand.classifier.stop()
    stand.start_classifier('-p', 'buffer_size:=5')
    terminal = open_terminal(stand)
    freeze_with_features(terminal)
    terminal.send('ncup')
    seen = len(stand.listener.vectors)
    wait_until(lambda: len(stand.listener.vectors) > seen + 50, 'ten times the buffer')
    terminal.send('\r\r')
    terminal.wait_for("learnt: 'cup'")
    terminal.close()
    assert_learnt_what_was_shown(stand)
    stand.listener.close()


@pytest.mark.slow
def test_queries_are_answered(terminal, stand):
    terminal.send('nbowl\r')  # Nothing is asked before the first label is known.
    terminal.wait_for("learnt: 'bowl'")
    stand.listener.show('CD')
    terminal.wait_for(r'the robot asks \(\d+\): what is new here\?')
    terminal.send('a')
    terminal.wait_for('ASKED')
    terminal.send('ncup\r\r')
    terminal.wait_for("learnt: 'cup'")
    stand.listener.wait_vector(stand.listener.wait_learnt(2).stamp)


@pytest.mark.slow
def test_resizing(terminal, stand):
    terminal.send('ncup\r')
    terminal.wait_for("learnt: 'cup'")
    for height, width in ((12, 50), (40, 120), (5, 24), (2, 9), (24, 80)):
        terminal.resize(height, width)
        terminal.wait_for(r'\A /proeml')
        assert terminal.child.isalive() and len(terminal.text.split('\n')) == height
    terminal.wait_for('q quit')
    terminal.wait_for('1 .*cup')


@pytest.mark.slow
def test_lost_classifier_is_shown_and_comes_back(terminal, stand):
    terminal.send(' ')
    terminal.wait_for('HELD')
    terminal.send('ncup\r')
    terminal.wait_for('cup marked')
    stand.classifier.kill()
    terminal.wait_for('no sign of life|is gone')
    terminal.send('\r')
    terminal.wait_for('does not answer; nothing was sent')
    terminal.wait_for('HELD')
    stand.start_classifier()
    terminal.wait_for('connected')
    terminal.send('\r')
    terminal.wait_for("learnt: 'cup'")
    terminal.wait_for(r'label  1 sample\b')
    assert_learnt_what_was_shown(stand)


@pytest.mark.slow
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_terminal_without_colour_and_utf8_and_signals(stand, number):
    terminal = Terminal(*TELEOP, TERM='vt100', LANG='C', LC_ALL='C', PYTHONCOERCECLOCALE='0',
                        PYTHONUTF8='0')
    terminal.wait_for('connected')
    terminal.wait_for('LIVE')
    leave_the_field(terminal)
    terminal.send(' ')
    terminal.wait_for('HELD')
    terminal.send('ncup\r')
    terminal.wait_for(r'\+ cup')
    terminal.send('\r')
    terminal.wait_for("learnt: 'cup'")
    terminal.wait_for('##')
    assert terminal.styles() == {'default'}
    terminal.child.kill(number)
    assert terminal.wait() == 0
    terminal.close()


@pytest.mark.slow
def test_unusable_terminal_is_named(ros_domain_id):
    terminal = Terminal(*TELEOP, TERM='no-such-terminal')
    terminal.wait_for('TERM=no-such-terminal')
    assert terminal.wait() == 1
    terminal.close()


@pytest.mark.slow
def test_without_a_terminal_it_says_so(start_process):
    process = start_process('teleop_node')
    assert process.wait(DEADLINE) == 1
    assert 'needs a terminal' in process.output and 'Traceback' not in process.output
