# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Resizing by areas gives what OpenCV gives."""

import cv2
import numpy as np
import pytest

from proemlc_ros.features.resizing import resized_by_area


@pytest.mark.parametrize('size', [(480, 640), (448, 448), (225, 224), (1080, 1920), (224, 500),
                                  (100, 640), (640, 100), (20, 30), (1, 1), (257, 341)])
@pytest.mark.parametrize('channels', [(), (3,)])
def test_values_are_those_of_opencv(size, channels):
    image = np.random.default_rng(0).uniform(0, 255, (*size, *channels)).astype(np.float32)
    expected = cv2.resize(image, (224, 224), interpolation=cv2.INTER_AREA)
    found = resized_by_area(image, 224, 224)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_a_part_of_an_image_is_resized_as_well():
    image = np.random.default_rng(1).uniform(0, 255, (300, 400, 3)).astype(np.float32)
    part = image[::2, 10:300]
    np.testing.assert_allclose(
        resized_by_area(part, 60, 50),
        cv2.resize(np.ascontiguousarray(part), (50, 60), interpolation=cv2.INTER_AREA), atol=2e-4)
