# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to the page: the view of the classifier as JSON.

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


def prediction_content(prediction: StampedPrediction) -> dict[str, Any]:
    """Return a prediction for JSON."""
    return {
        'stamp': str(prediction.stamp),
        'predicted': list(prediction.predicted),
        'scores': [round(float(score), 3) for score in prediction.scores],
        'novelty': round(prediction.novelty, 3),
        'version': prediction.version,
    }


def query_content(query: Query, pictures: PictureCache) -> dict[str, Any]:
    """Return a query for JSON."""
    return {
        'stamp': str(query.vector.stamp),
        'text': query.text,
        'candidates': list(query.candidates),
        'scores': [round(score, 3) for score in query.scores],
        'novelty': round(query.novelty, 3),
        'picture': pictures.find(query.vector.stamp) is not None,
    }


class Payloads:
    """Makes the message of each part once, however many pages wait for it.

    Args:
        view: what is known of the classifier.
        pictures: the camera's pictures.
        classifier: full name of the classifier node.
    """

    def __init__(self, view: ClassifierView, pictures: PictureCache, classifier: str) -> None:
        self.view = view
        self.pictures = pictures
        self.classifier = classifier
        self.operators = 0
        self._made: dict[ViewPart, str | bytes | None] = {}

    def forget(self, part: ViewPart) -> None:
        """Make the message of a part again: it changed."""
        self._made.pop(part, None)

    def payload(self, part: ViewPart) -> str | bytes | None:
        """Return the newest message of a part; None where there is nothing to show."""
        if part not in self._made:
            self._made[part] = getattr(self, f'_{part.value}')()
        return self._made[part]

    def _shown(self) -> tuple[StampedPrediction | None, CameraPicture | None]:
        """Return a prediction and the picture that it is about, as new as there are both."""
        prediction, picture = self.view.prediction, self.pictures.newest
        if prediction is None or picture is None:
            return prediction, picture
        # A prediction may be lost, and a picture come after its prediction: look further back.
        paired = self.pictures.newest_among(self.view.predictions)
        if paired is not None and prediction.stamp - paired.stamp < MAX_LAG:
            return self.view.predictions[paired.stamp], paired
        return prediction, self.pictures.nearest(prediction.stamp) or picture

    def _prediction(self) -> str | None:
        prediction, _ = self._shown()
        if prediction is None:
            return None
        return as_json('prediction', **prediction_content(prediction))

    def _picture(self) -> bytes | None:
        """Return the picture for the page: its stamp, then the JPEG."""
        _, picture = self._shown()
        return None if picture is None else picture.stamp.to_bytes(8, 'big') + picture.jpeg

    def _labels(self) -> str:
        table = self.view.labels
        return as_json('labels', names=table.names, counts=table.counts,
                       thresholds=[round(value, 3) for value in table.thresholds],
                       samples=table.samples, version=table.version)

    def _queries(self) -> str:
        return as_json('queries', queries=[
            query_content(query, self.pictures) for query in self.view.queries])

    def _curve(self) -> str:
        curve = self.view.curve
        return as_json('curve', introductions=curve.introductions, points=[
            (samples, round(loss, 4)) for samples, loss in curve.points])

    def _activity(self) -> str:
        return as_json('activity', entries=[
            {'number': entry.number, 'time': round(entry.time, 3), 'who': entry.who,
             'text': entry.text} for entry in self.view.activity.entries])

    def _health(self) -> str:
        now = time.monotonic()
        connection = self.view.connection(now)
        health = self.view.health
        return as_json('health', connection=connection.value, live=connection is Connection.LIVE,
                       rate=round(self.view.rate(now), 1), level=health.level,
                       message=health.message, values=health.values, operators=self.operators,
                       classifier=self.classifier)
