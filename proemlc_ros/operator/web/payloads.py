# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What the page is told: the shared picture of the robot as JSON.

Stamps go as text, since they do not fit into JavaScript's numbers.
"""

from __future__ import annotations

import json
import time
from typing import Any

from proemlc_ros.classifier.records import Query, StampedPrediction
from proemlc_ros.operator.classifier_view import ClassifierView, Connection, ViewPart
from proemlc_ros.operator.pictures import CameraPicture, PictureCache

# Nanoseconds that a prediction with its picture may be older than one without.
MAX_LAG = 500_000_000


def as_json(kind: str, **content: Any) -> str:
    """Return one message to the page."""
    return json.dumps({'type': kind, **content}, ensure_ascii=False, separators=(',', ':'))


def sight_content(sight: StampedPrediction) -> dict[str, Any]:
    """Return a prediction for JSON."""
    return {
        'stamp': str(sight.stamp),
        'predicted': list(sight.predicted),
        'scores': [round(float(score), 3) for score in sight.scores],
        'novelty': round(sight.novelty, 3),
        'version': sight.version,
    }


def question_content(question: Query, pictures: PictureCache) -> dict[str, Any]:
    """Return a question for JSON."""
    return {
        'stamp': str(question.vector.stamp),
        'text': question.text,
        'candidates': list(question.candidates),
        'scores': [round(score, 3) for score in question.scores],
        'novelty': round(question.novelty, 3),
        'picture': pictures.find(question.vector.stamp) is not None,
    }


class Payloads:
    """Makes the message of each topic once, however many pages wait for it.

    Args:
        robot: what is told about.
        pictures: the camera's pictures.
        classifier: full name of the classifier node.
    """

    def __init__(self, robot: ClassifierView, pictures: PictureCache, classifier: str) -> None:
        self.robot = robot
        self.pictures = pictures
        self.classifier = classifier
        self.operators = 0
        self._made: dict[ViewPart, str | bytes | None] = {}

    def forget(self, topic: ViewPart) -> None:
        """Say that a topic changed."""
        self._made.pop(topic, None)

    def payload(self, topic: ViewPart) -> str | bytes | None:
        """Return the newest message of a topic; None where there is nothing to tell."""
        if topic not in self._made:
            self._made[topic] = getattr(self, f'_{topic.value}')()
        return self._made[topic]

    def _shown(self) -> tuple[StampedPrediction | None, CameraPicture | None]:
        """Return a prediction and the picture that it is about, as new as there are both."""
        sight, picture = self.robot.sight, self.pictures.newest
        if sight is None or picture is None:
            return sight, picture
        # A prediction may be lost, and a picture come after its prediction: look further back.
        whole = self.pictures.newest_among(self.robot.sights)
        if whole is not None and sight.stamp - whole.stamp < MAX_LAG:
            return self.robot.sights[whole.stamp], whole
        return sight, self.pictures.nearest(sight.stamp) or picture

    def _sight(self) -> str | None:
        sight, _ = self._shown()
        return None if sight is None else as_json('sight', **sight_content(sight))

    def _picture(self) -> bytes | None:
        """Return the picture for the page: its stamp, then the JPEG."""
        _, picture = self._shown()
        return None if picture is None else picture.stamp.to_bytes(8, 'big') + picture.jpeg

    def _labels(self) -> str:
        table = self.robot.labels
        return as_json('labels', names=table.names, counts=table.counts,
                       thresholds=[round(value, 3) for value in table.thresholds],
                       samples=table.samples, version=table.version)

    def _questions(self) -> str:
        return as_json('questions', questions=[
            question_content(question, self.pictures) for question in self.robot.questions])

    def _curve(self) -> str:
        curve = self.robot.curve
        return as_json('curve', introductions=curve.introductions, points=[
            (samples, round(loss, 4)) for samples, loss in curve.points])

    def _activity(self) -> str:
        return as_json('activity', deeds=[
            {'number': deed.number, 'time': round(deed.time, 3), 'who': deed.who,
             'text': deed.text} for deed in self.robot.activity.deeds])

    def _health(self) -> str:
        now = time.monotonic()
        connection = self.robot.connection(now)
        health = self.robot.health
        return as_json('health', connection=connection.value, live=connection is Connection.LIVE,
                       rate=round(self.robot.rate(now), 1), level=health.level,
                       message=health.message, values=health.values, operators=self.operators,
                       classifier=self.classifier)
