# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The tutorial on things in space: its files, its commands and its program, over DDS."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from classifier_partner import ClassifierPartner
from proemlc_ros.msg import LabelAnnotation
from proemlc_ros.srv import ControlSource
from ros_process import DEADLINE

from proemlc_ros.demo.tabletop import FOCAL, HEIGHT, TABLE_DEPTH, WIDTH, TeachableTable

sys.path.insert(0, str(Path(__file__).parents[1] / 'docs'))

from pages import ROOT, commands

pytestmark = pytest.mark.slow
PAGE = ROOT / 'docs/tutorials/in_space.md'
FILES = r'`([\w/]+\.(?:yaml|py))`:\n\n```\w+\n(.*?)^```'
THINGS, OTHERS = ('cup', 'banana', 'plant'), ('book', 'phone')
LINE = r'^(\w+): (\S+) m right, (\S+) m down, (\S+) m away$'
# Pictures of each thing, and boxes of whatever else.
EACH = 4


@pytest.fixture
def robot(start_process, port, ros, tmp_path):
    """Run `teach` as the page says; return a partner of the classifier."""
    for name, text in re.findall(FILES, PAGE.read_text(), re.MULTILINE | re.DOTALL):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    line, *_ = [line for line in commands(PAGE) if line.startswith('./proemlc teach')]
    words = [tmp_path / word if (tmp_path / word).exists() else word
             for word in shlex.split(line)[1:]]
    start_process('proemlc', *words, '--port', port, '--no-browser')
    partner = ClassifierPartner(ros).wait_until_ready()
    yield partner
    partner.close()


def pictures(partner, *things):
    """Put things on the table; yield the predictions of each picture since, box by box."""
    client = partner.node.create_client(ControlSource, '/source/control')
    assert client.wait_for_service(DEADLINE)
    done = client.call_async(ControlSource.Request(command='show', things=things))
    partner.spin_until(done.done, what='the source')
    assert done.result().success, done.result().message
    # The last pictures of what was there before may still be under way.
    after = [partner.node.get_clock().now().nanoseconds + 10**9]
    while True:
        partner.heard['predictions'].clear()
        yield partner.spin_until(lambda: whole_picture(partner.heard['predictions'], after))


def stamp_of(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def whole_picture(heard, after):
    """Return the predictions of a picture behind a stamp, whose place its stamp then takes."""
    by_stamp = {}
    for message in heard:
        if stamp_of(message) > after[0] and message.position_valid:
            by_stamp.setdefault(stamp_of(message), []).append(message)
    for stamp, found in by_stamp.items():
        if len(found) == found[0].region_count:
            after[0] = stamp
            return found
    return None


def test_the_robot_points_at_three_things_and_is_silent_about_the_rest(
        robot, start_process, tmp_path):
    raised = 1e-3 * TABLE_DEPTH - 0.005

    def teach(boxes, *labels):
        for box in boxes:
            answer = robot.call('annotate', annotation=LabelAnnotation(
                header=box.header, labels=labels, region=box.region))
            assert answer.success or 'looks the same' in answer.message, answer.message
    lessons = (('cup', 'cup'), ('', ''), ('banana', 'banana'), ('plant', 'plant'),
               *((thing, '') for thing in OTHERS))
    for thing, label in lessons:
        labels = [label] if label else []
        scenes = pictures(robot, *([thing] if thing else []))
        for _ in range(EACH):
            boxes = next(scenes)
            on_things = [box for box in boxes if box.position_z < raised]
            teach(on_things[:2] if thing else boxes[:2], *labels)
            teach([box for box in boxes if box.position_z > raised][:1])
    where = start_process('python', tmp_path / 'where.py')
    scenes = pictures(robot, *THINGS, *OTHERS)
    homes = TeachableTable()._home
    for name in THINGS:
        place = np.array([homes[name].x - WIDTH / 2, homes[name].y - HEIGHT / 2]) / FOCAL

        def pointed(name=name, place=place):
            next(scenes)
            return any(np.hypot(*(np.array([right, down], float) - place)) < 0.06
                       and float(away) < raised
                       for label, right, down, away in re.findall(LINE, where.output, re.MULTILINE)
                       if label == name)
        robot.spin_until(pointed, what=f'{name} at {place}')
    scenes = pictures(robot, *OTHERS)
    named = [box.labels for _ in range(6) for box in next(scenes)]
    assert not any(named)
