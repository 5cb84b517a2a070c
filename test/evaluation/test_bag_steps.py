# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Bags read in a second process: the same steps, notes and errors."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from proemlc_ros.bags.writer import BagWriter, make_bag
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation import bag_steps
from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation, evaluate_bags
from proemlc_ros.records import Annotation, Event, EventKind, StampedVector


@pytest.fixture(autouse=True)
def every_bag_is_long(monkeypatch):
    monkeypatch.setattr(bag_steps, '_LONG', 0)
    monkeypatch.setattr(bag_steps.os, 'cpu_count', lambda: 2)


def evaluated(paths, parallel, predict=False, best_effort=False):
    """Return the result of an evaluation, its predictions, and the number of messages read."""
    predictions, read = [], []
    evaluation = PrequentialEvaluation(
        ProEMLC(hidden_size=20, activation='relu', scaling='none'),
        on_prediction=(lambda vector, said: predictions.append((vector.stamp, said.labels)))
        if predict else None)
    bags = BagSet(paths, best_effort=best_effort, parallel=parallel)
    result = evaluate_bags(bags, evaluation, 'test', read.append)
    return result, predictions, sum(read)


@pytest.mark.parametrize('predict', [False, True])
def test_both_ways_give_the_same(tmp_path, samples, predict):
    paths = [tmp_path / 'one', tmp_path / 'two']
    make_bag(paths[0], samples[:150])
    make_bag(paths[1], samples[150:])
    (paths[1] / 'metadata.yaml').unlink()
    here, said, read = evaluated(paths, False, predict, best_effort=True)
    there, said_too, read_too = evaluated(paths, True, predict, best_effort=True)
    for name in ('metrics', 'curve', 'labels', 'confusion', 'samples', 'vectors', 'notes'):
        assert getattr(here, name) == getattr(there, name)
    assert said == said_too and len(said) == 400 * predict
    assert read == read_too == 800


@pytest.mark.parametrize('settings', [{'activation': 'relu', 'scaling': 'none'}, {}])
def test_both_ways_give_the_same_behind_a_reset(tmp_path, settings):
    rows = np.random.default_rng(0).normal(size=(600, 300)).astype(np.float32)
    # More than what fits into the pipe.
    with BagWriter(tmp_path / 'bag') as bag:
        for number in range(2000):
            row = rows[number % 600] + np.float32(1e-3 * (number // 600))
            bag.write_vector(StampedVector(number + 1, row), 2 * number)
            bag.write_annotation(Annotation(
                number + 1, ('cup',) if row[0] > 0 else ('robot', 'wall')), 2 * number + 1)
            if number == 1000:
                bag.write_event(Event(EventKind.RESET), 2 * number + 1)
    results, weights = [], []
    for parallel in (False, True):
        evaluation = PrequentialEvaluation(ProEMLC(hidden_size=20, **settings))
        results.append(evaluate_bags(BagSet([tmp_path / 'bag'], parallel=parallel), evaluation,
                                     'test', lambda _: None))
        weights.append(evaluation.model.weights)
    here, there = results
    for name in ('metrics', 'curve', 'labels', 'confusion', 'samples', 'vectors', 'notes'):
        assert getattr(here, name) == getattr(there, name)
    np.testing.assert_array_equal(*weights)


def test_messages_are_counted_without_reading_them(tmp_path, samples):
    for name in ('one', 'two'):
        make_bag(tmp_path / name, samples[:20])
    assert BagSet([tmp_path / 'one', tmp_path / 'two']).count_messages() == 80


def test_rejects_are_counted(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(5, samples[0][0]), 1)
        bag.write_vector(StampedVector(6, samples[0][0][:3]), 2)
        bag.write_annotation(Annotation(5, ('cup',)), 3)
        bag.write_annotation(Annotation(5, (' ',)), 4)
    result, _, _ = evaluated([tmp_path / 'bag'], True)
    assert result.rejects == {'wrong_width': 1, 'bad_label': 1}
    assert result.samples == 1


def test_errors_arrive(tmp_path, samples):
    with pytest.raises(BagError, match=r'none.mcap: no such'):
        evaluated([tmp_path / 'none.mcap'], False)
    make_bag(tmp_path / 'bag', samples)
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    with pytest.raises(BagError, match=r'metadata.yaml is missing; use --best-effort'):
        evaluated([tmp_path / 'bag'], True)


WAITING = """
import sys, time
from pathlib import Path
from proemlc_ros.evaluation import bag_steps
from proemlc_ros.evaluation.annotation_stream import AnnotationStream
if __name__ == "__main__":
    bags = bag_steps.BagSet([Path(sys.argv[1])], parallel=True)
    stream = AnnotationStream(yields_vectors=True)
    try:
        for step in bag_steps._ParallelBagSteps(bags, bags.paths[0], stream, True):
            print("reading", flush=True)
            while True:
                time.sleep(0.05)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_ends_both_processes_silently(tmp_path, samples):
    make_bag(tmp_path / 'bag', samples)
    (tmp_path / 'waiting.py').write_text(WAITING)
    process = subprocess.Popen(
        [sys.executable, tmp_path / 'waiting.py', tmp_path / 'bag'], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert process.stdout.readline() == 'reading\n'
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=240) == ('interrupted\n', '')
