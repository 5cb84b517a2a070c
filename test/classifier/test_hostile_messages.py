# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages that a broken or hostile peer may send: rejected, or bounded in what they cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from durable_model_stand import WIDTH, Opened, make_annotation

from proemlc_ros.classifier.classifier import Classifier
from proemlc_ros.classifier.matching import MatchingRules, VectorBuffer
from proemlc_ros.classifier.pictures import PictureBuffer
from proemlc_ros.errors import RejectedError
from proemlc_ros.records import Picture, Region, StampedVector

BAD_REGIONS = {
    'no number': Region('', math.nan, 1.0, 2.0, 2.0),
    'without end': Region('', 1.0, 1.0, math.inf, 2.0),
    'turned over': Region('', 1.0, 1.0, -2.0, 2.0),
    'long id': Region('x' * 1000, 1.0, 1.0, 2.0, 2.0),
    'escape in the id': Region('\x1b[2J', 1.0, 1.0, 2.0, 2.0),
}


class PictureStub:
    """A camera picture of some bytes."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def picture(self, region: Region) -> Picture:
        return Picture(1, 'jpeg', bytes(self.nbytes))


@pytest.fixture
def classifier(tmp_path):
    classifier = Classifier(Opened(tmp_path / 'model').durable)
    yield classifier
    classifier.close()


def vector_of(**fields) -> StampedVector:
    return StampedVector(1, np.ones(WIDTH, np.float32), **fields)


@pytest.mark.parametrize('case', BAD_REGIONS)
def test_a_region_that_is_none_is_rejected_with_vector_and_annotation(classifier, case):
    region = BAD_REGIONS[case]
    with pytest.raises(RejectedError) as caught:
        classifier.predict(vector_of(region=region))
    assert caught.value.cause == 'bad_region'
    annotation = make_annotation(1, 'cup')._replace(region=region)
    assert classifier.annotate(annotation).exception(10).cause == 'bad_region'
    assert classifier.annotate(make_annotation(2, 'cup')).result(10)


@pytest.mark.parametrize('topic', ['/camera' * 100, '/camera\x1b[2J'])
def test_a_source_topic_is_a_text_of_bounded_length(classifier, topic):
    for _ in range(2):
        with pytest.raises(RejectedError) as caught:
            classifier.predict(vector_of(source_topic=topic))
        assert caught.value.cause == 'bad_source_topic'
    classifier.keep(vector_of(source_topic='/camera'))
    classifier.predict(vector_of(source_topic='/camera'))


def test_vectors_of_one_stamp_stay_within_the_memory():
    buffer = VectorBuffer(MatchingRules(capacity=10, max_bytes=100_000))
    values = np.ones(100, np.float32)
    for number in range(5000):
        buffer.add(StampedVector(7, values, region=Region('', number, 1.0, 2.0, 2.0)))
    assert len(buffer) <= 1000
    assert buffer.bytes == len(buffer) * values.nbytes <= 100_000
    newest = Region('', 4999.0, 1.0, 2.0, 2.0)
    assert buffer.match(7, region=newest).region == newest


def test_a_picture_of_more_regions_than_the_buffer_stays_whole():
    buffer = VectorBuffer(MatchingRules(capacity=10))
    for number in range(50):
        buffer.add(StampedVector(7, np.ones(3, np.float32),
                                 region=Region('', number, 1.0, 2.0, 2.0)))
    assert len(buffer.regions_at(7)) == 50


def test_annotations_of_one_stamp_wait_for_few_pictures():
    buffer = PictureBuffer()
    buffer.active = True
    for number in range(5000):
        annotation = make_annotation(number, 'cup')._replace(stamp=7)
        assert buffer.find(annotation) is None
        buffer.settle(number, annotation)
    waiting = [number for number, _ in buffer.add(7, PictureStub(10))]
    assert len(waiting) <= 1000
    assert waiting[-1] == 4999


def test_pictures_without_bytes_are_not_kept_for_ever():
    buffer = PictureBuffer(max_bytes=1_000_000)
    buffer.active = True
    for stamp in range(1, 5000):
        buffer.add(stamp, PictureStub(0))
    assert 0 < len(buffer) <= 2000
