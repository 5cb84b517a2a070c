# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden rows that the reading process works out: those of the layer, and the same results."""

import multiprocessing
import threading
import time

import numpy as np
import pytest

from proemlc_ros.bags.writer import BagWriter
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.layer.hidden import HiddenRows
from proemlc_ros.evaluation import bag_steps, hidden_ahead
from proemlc_ros.evaluation.bag_evaluation import evaluate_bags
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.hidden_ahead import HiddenAhead, LayerOffers, SharedRows
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector

RELU = {'hidden_size': 20, 'activation': 'relu', 'scaling': 'none'}
DRAWN = {'hidden_size': 20}
SINGLE = {**RELU, 'dtype': 'float32'}
WIDTH = 300
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(600, WIDTH)).astype(np.float32)
NAMES = [('cup',) if row[0] > 0 else ('robot', 'wall') for row in ROWS]


def layer_of(settings, width=WIDTH):
    """Return a fixed layer."""
    model = ProEMLC(**settings)
    model.learn(ROWS[:100, :width], NAMES[:100])
    model.fix_layer()
    return model.layer


def until_prepared(ahead, here, rows, number):
    """Return the mark of rows once the layer of that number has arrived."""
    deadline = time.monotonic() + 90
    while (mark := ahead.prepare(rows)) is None or mark.number < number:
        if mark is not None:
            here.rows(mark)
            here.release()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return mark


def both_ends():
    """Return what works out rows, what uses them, and the connection between them."""
    offered, offers = multiprocessing.Pipe(duplex=False)
    shared = SharedRows()
    return HiddenAhead(offered, shared), LayerOffers(offers, shared), offers


def test_rows_arrive_as_the_layer_gives_them():
    ahead, here, _ = both_ends()
    assert ahead.prepare(ROWS) is None
    for number, layer in enumerate([layer_of(RELU), layer_of(DRAWN), layer_of(SINGLE)], 1):
        here.offer(layer)
        here.offer(layer)  # The same again says nothing new.
        for rows in (ROWS, ROWS[:7]):
            found = here.rows(until_prepared(ahead, here, rows, number))
            assert found.layer is layer
            np.testing.assert_array_equal(
                found.rows, layer.rows(rows.astype(layer.options.dtype),
                                       np.empty((len(rows), layer.size), layer.options.dtype)))
            here.release()


def test_rows_of_an_earlier_layer_are_dropped():
    ahead, here, _ = both_ends()
    here.offer(layer_of(RELU))
    mark = until_prepared(ahead, here, ROWS[:7], 1)
    here.offer(layer_of(DRAWN))
    assert here.rows(mark) is None


def test_samples_of_another_width_or_too_large_rows_are_left_to_the_model(monkeypatch):
    ahead, here, _ = both_ends()
    here.offer(layer_of(RELU))
    until_prepared(ahead, here, ROWS, 1)
    assert ahead.prepare(ROWS[:, :5]) is None
    monkeypatch.setattr(hidden_ahead, '_BYTES', 20 * 8 * 600)
    assert ahead.prepare(ROWS) is None


def test_rows_in_use_are_not_written_over():
    ahead, here, offers = both_ends()
    here.offer(layer_of(RELU))
    marks = [until_prepared(ahead, here, ROWS[:5], 1)]
    marks += [ahead.prepare(ROWS[5 * place:][:5]) for place in range(1, hidden_ahead.PLACES)]
    used = [here.rows(mark).rows for mark in marks]
    kept = [rows.copy() for rows in used]
    following = []

    def follow():
        following.append(ahead.prepare(ROWS[100:105]))
        try:
            ahead.prepare(ROWS[:5])
        except BrokenPipeError as error:
            following.append(error)
    waiting = threading.Thread(target=follow)
    waiting.start()
    waiting.join(0.2)
    assert not following
    np.testing.assert_array_equal(used, kept)
    here.release()
    while not following:
        waiting.join(0.01)
    assert following[0].rows.place == 0
    offers.close()  # The other process has ended: nobody waits for ever.
    waiting.join(30)
    assert isinstance(following[1], BrokenPipeError)


@pytest.mark.parametrize('settings', [RELU, DRAWN, SINGLE])
def test_a_model_uses_the_rows_of_its_own_layer_alone(settings):
    first = ProEMLC(**settings)
    first.learn(ROWS[:100], NAMES[:100])
    first.fix_layer()
    plain, used, other = first.copy(), first.copy(), first.copy()
    hidden = first.layer.rows(ROWS[100:].astype(first.options.dtype),
                              np.empty((500, first.layer.size), first.options.dtype))
    wanted = plain.test_then_train(ROWS[100:], NAMES[100:])
    found = used.test_then_train(ROWS[100:], NAMES[100:], hidden=HiddenRows(first.layer, hidden))
    np.testing.assert_array_equal(found.scores, wanted.scores)
    assert found.labels == wanted.labels
    # Zeros would teach it something else.
    zeros = HiddenRows(layer_of(settings), np.zeros_like(hidden))
    found = other.test_then_train(ROWS[100:], NAMES[100:], hidden=zeros)
    np.testing.assert_array_equal(found.scores, wanted.scores)
    wrong = first.copy().test_then_train(ROWS[100:], NAMES[100:],
                                         hidden=HiddenRows(first.layer, np.zeros_like(hidden)))
    assert not np.allclose(wrong.scores, wanted.scores)


class Counted(PrequentialEvaluation):
    """Counts the blocks that come with hidden rows of the model's layer."""

    used = 0

    def take(self, step, hidden=None):
        """Do one step."""
        self.used += hidden is not None and hidden.layer is self.model.layer
        super().take(step, hidden)


@pytest.mark.parametrize('settings', [RELU, DRAWN])
def test_both_ways_give_the_same_even_when_the_layer_changes(tmp_path, monkeypatch, settings):
    monkeypatch.setattr(bag_steps, '_LONG', 0)
    monkeypatch.setattr(bag_steps.os, 'cpu_count', lambda: 2)
    # Blocks longer than what fits into the pipe, so that the reading process cannot be far ahead.
    with BagWriter(tmp_path / 'bag') as bag:
        for number in range(6000):
            row = ROWS[number % 600] + np.float32(1e-3 * (number // 600))
            bag.write_vector(StampedVector(number + 1, row), 2 * number)
            bag.write_annotation(Annotation(number + 1, NAMES[number % 600]), 2 * number + 1)
            if number == 3000:
                bag.write_event(Event(EventKind.RESET), 2 * number + 1)
    results, weights = [], []
    for parallel in (False, True):
        evaluation = Counted(ProEMLC(**settings))
        results.append(evaluate_bags(BagSet([tmp_path / 'bag'], parallel=parallel), evaluation,
                                     'test', lambda _: None))
        weights.append(evaluation.model.weights)
        assert (evaluation.used > 2) == parallel
    here, there = results
    for name in ('metrics', 'curve', 'labels', 'confusion', 'samples', 'vectors', 'notes'):
        assert getattr(here, name) == getattr(there, name)
    np.testing.assert_array_equal(*weights)
