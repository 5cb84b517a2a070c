# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Three pictures of the empty place, taught as none of the labels, silence it."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from proemlc_ros.features.registry import HAND_MADE, make_extractor
from proemlc_ros.nodes.classifier_parameters import CLASSIFIER_PARAMETERS, open_classifier
from proemlc_ros.records import Annotation


@pytest.fixture
def classifier(tmp_path):
    """Open the classifier as its node does, with default parameters."""
    values = SimpleNamespace(**{entry.name: entry.default for entry in CLASSIFIER_PARAMETERS})
    values.model_directory = str(tmp_path)
    opened, _ = open_classifier(values, '/test', print)
    yield opened
    opened.close()


def frame(number, thing=''):
    """Return a noisy picture of a room in changing light, with a thing in it or without."""
    random = np.random.default_rng(number)
    light = 1 + 0.03 * random.normal()
    picture = cv2.resize(np.array([[[130, 120, 105], [160, 150, 130]],
                                   [[90, 70, 50], [110, 85, 60]]], np.uint8), (160, 120))
    centre = (80 + int(random.integers(-15, 15)), 70 + int(random.integers(-10, 10)))
    if thing == 'cup':
        cv2.circle(picture, centre, 22, (190, 40, 40), -1)
    elif thing == 'plant':
        cv2.ellipse(picture, centre, (14, 32), 0, 0, 360, (40, 140, 50), -1)
    noisy = picture * light + random.normal(0, 4, picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def test_three_pictures_silence_an_empty_room(classifier):
    extractor = make_extractor(*HAND_MADE)
    durable = classifier.durable

    def teach(numbers, *labels):
        for number in numbers:
            durable.learn([Annotation(number, labels, extractor=extractor.name, features=extractor(
                frame(number, labels[0] if labels else '')))])

    def named(numbers, thing=''):
        return [durable.model.classify(extractor(frame(number, thing))).classification.labels
                for number in numbers]

    teach(range(1, 5), 'cup')
    assert named(range(100, 120)).count(('cup',)) > 15  # it knows little else
    teach(range(5, 8))
    assert named(range(100, 120)) == [()] * 20
    assert named(range(200, 220), 'cup') == [('cup',)] * 20
    teach(range(8, 12), 'plant')
    assert named(range(100, 120)) == [()] * 20
    assert named(range(300, 320), 'plant') == [('plant',)] * 20
