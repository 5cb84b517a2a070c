# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Boxes as operators meet them: merged answers, held pictures, boxes drawn on the page."""

import asyncio
import json

import numpy as np
import pytest
from recorder import Recorder

from proemlc_ros.operator import region_view
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.recent import CameraPicture, PictureCache
from proemlc_ros.operator.web.payloads import Payloads, prediction_content
from proemlc_ros.operator.web.requests import Requests, region_content
from proemlc_ros.records import Region, StampedPrediction, StampedVector
from proemlc_ros.regions import OWN_BOXES

LEFT, RIGHT = Region('1', 20, 20, 30, 30), Region('2', 80, 20, 30, 30)


def answer(stamp, region, *labels, count=2):
    return StampedPrediction(stamp, labels, np.array([0.5, -0.5], np.float32), 0.25, 1,
                             region=region, region_count=count)


def vector(stamp, region, value=0.0, count=2):
    return StampedVector(stamp, np.full(3, value, np.float32), region=region, region_count=count)


@pytest.fixture
def view():
    """A view of one picture with two boxes."""
    made = ClassifierView()
    for region, value, labels in ((LEFT, 1.0, ('cup',)), (RIGHT, 2.0, ('plate', 'red'))):
        made.on_vector(vector(7, region, value))
        made.on_prediction(answer(7, region, *labels), 0.0)
    return made


@pytest.fixture
def requests(view):
    """The requests of a page, and the classifier's part."""
    actions = Recorder(view)
    made = Requests(view, PictureCache(), actions, 'ann', lambda *_: None)
    return made, actions


def asked(requests, do, **fields):
    return asyncio.run(requests.answer({'id': 1, 'do': do, **fields}))


def test_the_picture_has_the_labels_of_all_its_boxes(view):
    assert view.prediction.stamp == 7 and view.prediction.region.is_whole
    assert sorted(view.prediction.predicted) == ['cup', 'plate', 'red']
    assert [one.region for one in view.regions.predictions(7)] == [LEFT, RIGHT]


def test_the_page_gets_the_boxes_and_the_size_of_their_picture(view):
    pictures = PictureCache()
    pictures.add(CameraPicture(7, b'jpeg', (1280, 720)))
    view.on_prediction(answer(7, LEFT, 'cup')._replace(position=(0.3, 0.4, 1.2)), 0.0)
    content = json.loads(Payloads(view, pictures, '/proemlc', print)._prediction())
    assert content['size'] == [1280, 720]
    assert [one['predicted'] for one in content['regions']] == [['cup'], ['plate', 'red']]
    assert content['regions'][0]['region'] == LEFT._asdict()
    assert [one['metres'] for one in content['regions']] == [1.3, None]


def test_a_box_is_annotated_with_its_own_vector(requests):
    made, actions = requests
    reply = asked(made, 'annotate', stamp='7', labels=['mug'], absent=[], complete=True,
                  region={**LEFT._asdict(), 'id': ''})
    assert reply['done'], reply
    (said,) = actions.asked
    assert said.region == LEFT and said.features[0] == 1.0 and said.labels == ('mug',)


def test_a_held_picture_keeps_its_boxes(view, requests):
    made, _ = requests
    assert asked(made, 'hold', stamp='7')['done']
    for stamp in range(100, 300):
        view.on_vector(vector(stamp, LEFT, count=1))
        view.on_prediction(answer(stamp, LEFT, count=1), 0.0)
    assert view.regions.vector(7, RIGHT).data[0] == 2.0
    assert view.regions.vector(100, LEFT) is None


def test_a_drawn_box_is_answered_and_the_live_picture_stays(view):
    drawn = Region('', 50, 60, 20, 20)

    class Camera(Recorder):
        async def draw(self, stamp, region):
            self.asked.append((stamp, region))
            self.view.on_vector(vector(stamp, region, 5.0, count=1))
            self.view.on_prediction(answer(stamp, region, 'cup', count=1), 0.0)
    view.on_prediction(StampedPrediction(9, ('desk',), np.zeros(1, np.float32), 0.1, 1), 0.0)
    actions = Camera(view)
    made = Requests(view, PictureCache(), actions, 'ann', lambda *_: None)
    reply = asked(made, 'draw', stamp='7', region=drawn._asdict())
    assert reply['done'] and reply['answer']['predicted'] == ['cup']
    assert actions.asked == [(7, drawn)] and view.prediction.predicted == ('desk',)
    assert view.regions.vector(7, drawn).data[0] == 5.0


def test_the_boxes_of_a_look_are_answered_together(view, requests, monkeypatch):
    class Camera(Recorder):
        async def draw(self, stamp, region):
            self.asked.append((stamp, region))
            for place, name in ((20, 'cup'), (60, 'bowl')):
                self.view.on_prediction(
                    answer(stamp, Region('', place, 50, 20, 20), name, count=2), 0.0)
    actions = Camera(view)
    made = Requests(view, PictureCache(), actions, 'ann', lambda *_: None)
    reply = asked(made, 'look', stamp='7')
    assert reply['done'] and actions.asked == [(7, OWN_BOXES)]
    assert [one['predicted'] for one in reply['answers']] == [['cup'], ['bowl']]
    monkeypatch.setattr('proemlc_ros.operator.web.requests.ANSWER_TIMEOUT', 0.01)
    reply = asked(requests[0], 'look', stamp='8')
    assert not reply['done'] and 'no box came' in reply['message']


def test_no_answer_about_a_box_is_said(requests, monkeypatch):
    monkeypatch.setattr('proemlc_ros.operator.web.requests.ANSWER_TIMEOUT', 0.01)
    assert region_view.ANSWER_TIMEOUT > 1
    reply = asked(requests[0], 'draw', stamp='7',
                  region={**LEFT._asdict(), 'center_x': 60})
    assert not reply['done'] and 'feature node' in reply['message']


@pytest.mark.parametrize('region', [
    'box', {}, {**LEFT._asdict(), 'size_x': 0}, {**LEFT._asdict(), 'center_x': 'left'},
    {**LEFT._asdict(), 'center_y': float('inf')}, {**LEFT._asdict(), 'size_y': True},
    {**LEFT._asdict(), 'id': 'a\u0000'}, None])
def test_what_is_no_box_is_refused(requests, region):
    reply = asked(requests[0], 'draw', stamp='7', region=region)
    assert not reply['done'] and 'region' in reply['message']


def test_boxes_of_one_picture_are_bounded(view):
    for number in range(2000):
        region = Region('', float(number), 1.0, 2.0, 2.0)
        view.on_vector(vector(9, region))
        view.on_prediction(answer(9, region, 'cup'), 0.0)
    assert len(view.regions.predictions(9)) <= 200
    assert view.regions.vector(9, region).region == region
    assert view.regions.vector(9, Region('', 0.0, 1.0, 2.0, 2.0)) is None


def test_answers_of_different_lengths_do_not_stop_the_page(view):
    odd = StampedPrediction(7, ('fork',), np.array([0.5], np.float32), 0.25, 1,
                            region=Region('', 50.0, 50.0, 5.0, 5.0), region_count=2)
    view.on_prediction(odd, 0.0)
    assert view.prediction.predicted == ('fork',)


def test_a_picture_is_unknown_where_all_of_its_boxes_are():
    one, other = (StampedPrediction(7, (), np.zeros(1, np.float32), 0.99, 1, unknown=unknown)
                  for unknown in (True, False))
    merged = region_view.merged
    assert merged([one, one]).unknown and not merged([one, other]).unknown
    assert region_content(one)['unknown'] and prediction_content(one)['unknown']
