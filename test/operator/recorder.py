# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The classifier's part in the tests of the operators' seats."""

import numpy as np

from proemlc_ros.classifier.records import StampedPrediction
from proemlc_ros.operator.actions import ActionResult


class Recorder:
    """Notes what is asked of the classifier; answers as told."""

    def __init__(self, robot):
        self.robot = robot
        self.asked = []
        self.outcome = ActionResult(True, 'done')

    async def annotate(self, annotation):
        self.asked.append(annotation)
        if self.outcome.done:
            self.robot.on_taught(annotation)
        return self.outcome

    async def predict(self, stamp):
        return StampedPrediction(stamp, ('cup',), np.ones(1, np.float32), 0.1, 1)

    def __getattr__(self, name):
        async def act(*arguments):
            self.asked.append((name, *arguments))
            return self.outcome
        return act
