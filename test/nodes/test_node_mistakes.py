# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes on the command lines of the nodes: each ends with a line that names it."""

import pytest

pytest.importorskip('rclpy')

# The words after the node's name, and what the line must name.
MISTAKES = {
    'missing parameter file': ('classifier_node --params-file nowhere.yaml', 'nowhere.yaml'),
    'parameter without a value': ('classifier_node -p seed', "'-p seed'"),
    'value beyond its bounds': ('classifier_node -p seed:=-1', 'from 0 to 2147483647'),
    'unknown argument': ('feature_node --nonsense', '--nonsense'),
    'impossible name of the node': ('classifier_node -r __node:=two-words', 'two-words'),
    'impossible topic': ('feature_node -p sensors:=[camera] -p camera.topic:=two-words '
                         '-p camera.extractor:=colour_moments', 'two-words'),
    'impossible classifier': ('dashboard_node -p classifier:=two-words', 'two-words'),
    'page for everybody without token': ('dashboard_node -p address:=0.0.0.0', 'token'),
    'impossible port': ('dashboard_node -p port:=99999', '99999'),
    'terminal without a terminal': ('teleop_node', 'terminal'),
}


@pytest.mark.parametrize('words, named', MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_reported_in_one_line(start_process, words, named):
    program, *arguments = words.split()
    node = start_process(program, '--ros-args', *arguments)
    assert node.wait() == 1, node.output
    *others, line = node.output.splitlines()
    assert named in line and '/project/' not in line
    # On words that are not its own, rcl itself has a line to say.
    assert len(others) <= 1 and 'Traceback' not in node.output
