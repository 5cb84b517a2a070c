# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's part in the tests of the page and the terminal."""

import numpy as np

from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.records import StampedPrediction, StampedVector


def vector(stamp, width=3):
    """Return a feature vector whose values are its stamp."""
    return StampedVector(stamp, np.full(width, stamp, np.float32), 'test/1')


def prediction(stamp, predicted=(), version=1):
    """Return a prediction without scores."""
    return StampedPrediction(stamp, predicted, np.zeros(0, np.float32), 0.5, version)


class Recorder:
    """Records what is asked of the classifier; answers with `result`."""

    def __init__(self, view):
        self.view = view
        self.asked = []
        self.request_ids = []
        self.result = ActionResult(True, 'done')

    async def annotate(self, annotation, request_id=''):
        self.asked.append(annotation)
        self.request_ids.append(request_id)
        if self.result.done:
            self.view.on_learnt(annotation)
        return self.result

    async def predict(self, stamp):
        return StampedPrediction(stamp, ('cup',), np.ones(1, np.float32), 0.1, 1)

    def __getattr__(self, name):
        async def act(*arguments):
            self.asked.append((name, *arguments))
            return self.result
        return act
