# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Images for the tests of the features."""

import cv2
import numpy as np
import pytest


@pytest.fixture
def camera_image():
    """A 640x480 image with smooth colours, edges and noise, always the same."""
    rng = np.random.default_rng(7)
    small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    image = cv2.resize(small, (640, 480), interpolation=cv2.INTER_CUBIC)
    cv2.circle(image, (200, 240), 90, (250, 30, 20), -1)
    cv2.rectangle(image, (400, 100), (520, 330), (10, 180, 60), -1)
    noise = rng.integers(-8, 9, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)
