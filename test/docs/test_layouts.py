# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The layouts for Foxglove and PlotJuggler name topics and fields that there are."""

import json
import re
from xml.etree import ElementTree

import pytest
from pages import ROOT

TYPES = {'predictions': 'Prediction', 'labels': 'LabelSet', 'queries': 'LabelQuery'}


def fields(message):
    text = (ROOT / f'msg/{message}.msg').read_text(encoding='utf-8')
    return set(re.findall(r'^[\w/]+(?:\[\])? (\w+)$', text, re.MULTILINE))


def foxglove():
    layout = json.loads((ROOT / 'config/foxglove_layout.json').read_text(encoding='utf-8'))
    placed = set(re.findall(r'"(\w+!\w+)"', json.dumps(layout['layout'])))
    assert placed == set(layout['configById'])
    return re.findall(r'/proemlc/(\w+)(?:\.(\w+))?', json.dumps(layout['configById']))


def plotjuggler():
    tree = ElementTree.parse(ROOT / 'config/plotjuggler_layout.xml')
    return [re.match(r'/proemlc/(\w+)/(\w+)', curve.get('name')).groups()
            for curve in tree.iter('curve')]


@pytest.mark.parametrize('named', [foxglove, plotjuggler])
def test_every_topic_and_field_exists(named):
    found = named()
    assert len(found) > 5
    node = (ROOT / 'docs/node.md').read_text(encoding='utf-8')
    for topic, field in found:
        assert f'`~/{topic}`' in node
        assert not field or field in fields(TYPES[topic]), (topic, field)
