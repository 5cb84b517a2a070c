# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Reading in a process beside: the same steps, notes and errors."""

import os
import signal
import subprocess
import sys

import pytest

from proemlc_ros.bags.writer import BagWriter, make_bag
from proemlc_ros.classifier.records import Annotation, StampedVector
from proemlc_ros.core import ProEMLC
from proemlc_ros.errors import BagError
from proemlc_ros.evaluation import runs
from proemlc_ros.evaluation.replay import Replay
from proemlc_ros.evaluation.runs import BagSet, run


@pytest.fixture(autouse=True)
def every_recording_is_long(monkeypatch):
    monkeypatch.setattr(runs, '_LONG', 0)
    monkeypatch.setattr(runs.os, 'cpu_count', lambda: 2)


def result_of(paths, beside, **options):
    predictions, read = [], []
    model = ProEMLC(hidden_size=20, activation='relu', scaling='none')
    replay = Replay(model, on_prediction=lambda moment, said: predictions.append(
        (moment.stamp, said.labels)) if options.get('predict') else None)
    if not options.get('predict'):
        replay = Replay(model)
    recordings = BagSet(paths, best_effort=options.get('best_effort', False), beside=beside)
    result = run(recordings, replay, 'test', read.append)
    return result, predictions, sum(read)


@pytest.mark.parametrize('predict', [False, True])
def test_the_same_comes_out(tmp_path, samples, predict):
    paths = [tmp_path / 'one', tmp_path / 'two']
    make_bag(paths[0], samples[:150])
    make_bag(paths[1], samples[150:])
    (paths[1] / 'metadata.yaml').unlink()
    here, said, read = result_of(paths, False, predict=predict, best_effort=True)
    there, said_too, read_too = result_of(paths, True, predict=predict, best_effort=True)
    for name in ('metrics', 'curve', 'labels', 'confusion', 'samples', 'vectors', 'notes'):
        assert getattr(here, name) == getattr(there, name)
    assert said == said_too and len(said) == 400 * predict
    assert read == read_too == 800


def test_rejects_are_counted(tmp_path, samples):
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_vector(StampedVector(5, samples[0][0]), 1)
        bag.write_vector(StampedVector(6, samples[0][0][:3]), 2)
        bag.write_annotation(Annotation(5, ('cup',)), 3)
        bag.write_annotation(Annotation(5, (' ',)), 4)
    result, _, _ = result_of([tmp_path / 'bag'], True)
    assert result.rejects == {'wrong_width': 1, 'bad_label': 1}
    assert result.samples == 1


def test_errors_arrive(tmp_path, samples):
    with pytest.raises(BagError, match='no such bag'):
        run(BagSet([tmp_path / 'none.mcap'], beside=False), Replay(ProEMLC()), '', print)
    make_bag(tmp_path / 'bag', samples)
    (tmp_path / 'bag' / 'metadata.yaml').unlink()
    with pytest.raises(BagError, match=r'metadata.yaml is missing; use --best-effort'):
        result_of([tmp_path / 'bag'], True)


PATIENT = """
import sys, time
from pathlib import Path
from proemlc_ros.bags.sources import TopicSelection
from proemlc_ros.evaluation.reading import BagToRead, ReadingBeside, Steps
from proemlc_ros.classifier.validation import ExpectedInput
if __name__ == "__main__":
    bag = BagToRead(Path(sys.argv[1]), TopicSelection(), False, True)
    try:
        for step in ReadingBeside(bag, Steps(ExpectedInput(), vectors=True)):
            print("reading", flush=True)
            time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_ends_both_processes_without_a_word(tmp_path, samples):
    make_bag(tmp_path / 'bag', samples)
    (tmp_path / 'patient.py').write_text(PATIENT)
    process = subprocess.Popen(
        [sys.executable, tmp_path / 'patient.py', tmp_path / 'bag'], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert process.stdout.readline() == 'reading\n'
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ('interrupted\n', '')
