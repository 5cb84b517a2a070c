# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A demonstration beside a robot: it has a graph of its own."""

import re

from proemlc_ros.demo.curriculum import Curriculum
from proemlc_ros.demo.processes import Processes
from proemlc_ros.demo.run import DemoOptions, _start_demo


def test_every_node_is_in_a_namespace_that_nobody_else_has(tmp_path, monkeypatch):
    started = {}
    monkeypatch.setattr(Processes, '_launch', lambda self, module, command, piped=False:
                        started.update({module: command}))
    seen = set()
    for _ in range(2):
        started.clear()
        options = DemoOptions(tmp_path, Curriculum(), 20.0, dashboard=True)
        _start_demo(options, Processes(tmp_path, remappings=options.remappings))
        assert set(started) == {'source_node', 'feature_node', 'classifier_node',
                                'demo_operator', 'dashboard_node'}
        namespaces = {re.search(r'__ns:=(/\w+)', ' '.join(words))[1]
                      for words in started.values()}
        assert len(namespaces) == 1
        # Also the one topic that all robots share.
        assert all('/diagnostics:=diagnostics' in words for words in started.values())
        seen |= namespaces
    assert len(seen) == 2
