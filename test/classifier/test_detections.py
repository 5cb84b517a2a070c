# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is where: complete pictures, answers averaged over tracks, confidences that agree."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from proemlc_ros.classifier.pictures import (
    Detection,
    DetectionCollector,
    confidences_of,
    even_confidences_of,
)
from proemlc_ros.classifier.versioned_model import VersionedPrediction
from proemlc_ros.conversions import detections_3d_message
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.prediction import Classification
from proemlc_ros.records import WHOLE, Region, StampedVector

SECOND = 1_000_000_000


def prediction(*scores: float, threshold: float = 0.0, version: int = 1) -> VersionedPrediction:
    names = tuple('abcdef'[:len(scores)])
    order = np.argsort(-np.array(scores))
    labels = tuple(names[place] for place in order if scores[place] > threshold)
    return VersionedPrediction(
        Classification(labels, np.array(scores), 0.1, names, threshold, 0), version)


def vector(stamp: int, name: str = '', place: float = 10.0, count: int = 1) -> StampedVector:
    return StampedVector(stamp, np.zeros(2, np.float32),
                         region=Region(name, place, 10, 8, 8), region_count=count)


def test_a_picture_comes_once_all_of_its_regions_are_there():
    collector = DetectionCollector()
    assert collector.add(vector(1, '1', 10, 2), prediction(0.5, -0.5)) is None
    assert collector.add(vector(2, '1', 10, 2), prediction(0.5, -0.5)) is None
    found = collector.add(vector(1, '2', 50, 2), prediction(-0.5, -0.5))
    assert [one.region.id for one in found] == ['1', '2']
    assert [one.labels for one in found] == [('a',), ()]
    assert found[0].confidences == (0.75,)


def test_a_whole_picture_is_no_detection():
    whole = StampedVector(1, np.zeros(2, np.float32), region=WHOLE)
    assert DetectionCollector().add(whole, prediction(0.5)) is None


def test_pictures_that_lost_a_vector_are_dropped_and_counted():
    collector = DetectionCollector(max_pictures=3)
    for stamp in range(10):
        assert collector.add(vector(stamp, '1', 10, 2), prediction(0.5)) is None
    assert collector.incomplete == 7


def test_the_answers_about_one_object_are_averaged():
    collector = DetectionCollector()
    said = []
    for number, score in enumerate((0.6, 0.6, -0.2, 0.6)):
        (one,) = collector.add(vector(number * SECOND // 10, '7'), prediction(score, -0.6))
        said.append(one.labels)
    assert said == [('a',)] * 4  # One answer of four would have flickered.
    (other,) = collector.add(vector(4 * SECOND // 10, '8'), prediction(-0.2, -0.6))
    assert other.labels == ()


def test_another_label_set_or_a_long_pause_begins_anew():
    collector = DetectionCollector()
    collector.add(vector(0, '7'), prediction(0.9))
    (new,) = collector.add(vector(1, '7'), prediction(-0.2, 0.3, version=2))
    assert new.labels == ('b',)
    (late,) = collector.add(vector(9 * SECOND, '7'), prediction(-0.2, -0.3, version=2))
    assert late.labels == ()


@pytest.mark.parametrize('threshold', ['expected_f1', 'learnt', 'zero'])
@pytest.mark.parametrize('samples', [1, 3, 60])
def test_confidences_agree_with_the_decision(samples, threshold):
    rng = np.random.default_rng(samples)
    rows = rng.normal(size=(samples, 6)).astype(np.float32)
    model = ProEMLC(hidden_size=20, activation='relu', scaling='none', threshold=threshold)
    model.learn(rows, [['abcd'[number % 4]] for number in range(samples)])
    for row in rng.normal(size=(50, 6)).astype(np.float32):
        found = model.classify(row)
        sure = confidences_of(found)
        assert sure.values.min(initial=0) >= 0 and sure.values.max(initial=0) <= 1
        above = {name for name, value in zip(found.names, sure.values, strict=True)
                 if value > np.float32(sure.border)}
        assert above == set(found.labels)
        even = even_confidences_of(found)
        assert even.min(initial=0) >= 0 and even.max(initial=0) <= 1
        assert {name for name, value in zip(found.names, even, strict=True)
                if value > 0.5} == set(found.labels)


def test_an_unknown_region_has_no_result_whatever_its_track_was():
    collector = DetectionCollector()
    known = prediction(0.9, -0.5)
    unknown = VersionedPrediction(known.classification._replace(novelty=0.99).or_unknown(0.95), 1)
    for stamp, answer, labels in ((1, known, ('a',)), (2, unknown, ()), (3, known, ('a',))):
        found, = collector.add(vector(stamp * SECOND // 10, '7'), answer)
        assert found.labels == labels


def test_detections_in_space_have_middle_and_size():
    def new(kind, **fields):
        made = SimpleNamespace(kind=kind, results=[], center=SimpleNamespace(
            position=SimpleNamespace()), size=SimpleNamespace(), pose=SimpleNamespace())
        vars(made).update(fields)
        return made
    one = Detection(Region('7', 10, 20, 4, 6), ('cup',), (0.9,))
    message = detections_3d_message(
        SimpleNamespace(new=new), 'header', [(one, (0.1, -0.2, 1.5), (0.3, 0.4, 0.05))])
    assert message.kind == 'vision_msgs/msg/Detection3DArray' and message.header == 'header'
    (found,) = message.detections
    assert found.kind == 'vision_msgs/msg/Detection3D' and found.id == '7'
    assert vars(found.bbox.center.position) == {'x': 0.1, 'y': -0.2, 'z': 1.5}
    assert vars(found.bbox.size) == {'x': 0.3, 'y': 0.4, 'z': 0.05}
    (result,) = found.results
    assert (result.hypothesis.class_id, result.hypothesis.score) == ('cup', 0.9)
    assert result.pose.pose is found.bbox.center
