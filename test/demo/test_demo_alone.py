# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A demonstration beside a robot: it has a graph of its own, and an exam after everything else."""

import re

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.operator_script import OperatorScript
from proemlc_ros.demo.run import DemoOptions, start_nodes


class Recorder:
    """Notes what would be started."""

    def __init__(self):
        self.started = {}

    def start(self, module, *arguments, piped=False):
        self.started[module] = list(map(str, arguments))


def test_every_node_is_in_a_namespace_that_nobody_else_has(tmp_path):
    seen = set()
    for _ in range(2):
        recorder = Recorder()
        start_nodes(DemoOptions(tmp_path, Curriculum(), 20.0, dashboard=True), recorder)
        assert set(recorder.started) == {'demo_camera', 'feature_node', 'classifier_node',
                                         'demo_operator', 'dashboard_node'}
        namespaces = {re.search(r'__ns:=(/\w+)', ' '.join(words))[1]
                      for words in recorder.started.values()}
        assert len(namespaces) == 1
        # Also the one topic that all robots share.
        assert all('/diagnostics:=diagnostics' in words for words in recorder.started.values())
        seen |= namespaces
    assert len(seen) == 2


def test_the_exam_begins_when_everything_is_annotated():
    curriculum = Curriculum(phase_pictures=2, exam_pictures=3)
    script = OperatorScript(curriculum, mistake_at=-1)
    for number in range(curriculum.lessons):
        assert not script.lessons_over
        script.on_prediction(number, (), (), 0.0)
    assert not script.lessons_over  # there is still something to annotate
    while script.waiting:
        script.done(script.waiting.popleft())
    assert script.lessons_over and not script.finished
    # The last picture may be lost; one that comes after it ends the exam as well.
    script.on_prediction(len(curriculum.pictures) + 4, (), (), 0.0)
    assert script.finished
