# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to the page: the view of the classifier as JSON.

Stamps go as text, since they do not fit into JavaScript's numbers.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from proemlc_ros.files import without_infinities
from proemlc_ros.operator.classifier_view import ClassifierView, Connection, ViewPart
from proemlc_ros.operator.progress import next_step
from proemlc_ros.operator.questions import SURE_SHARE, doubtful_label, question, shares
from proemlc_ros.operator.recent import CameraPicture, PictureCache
from proemlc_ros.records import Query, StampedPrediction, TaughtSample
from proemlc_ros.stamps import NANOSECONDS

# Nanoseconds that a prediction with its picture may be older than one without.
MAX_LAG = 2_000_000_000
# Characters of an activity entry, a query or a diagnostic value; an annotation may name a
# thousand labels.
MAX_SHOWN = 500
# Queries on the page at a time.
MAX_ASKED = 3
Warn = Callable[[str, str], None]


def as_json(kind: str, /, **content: Any) -> str:
    """Return one message to the page: always valid JSON, and valid UTF-8.

    A number that is not finite becomes null; a browser would reject the whole message.

    Raises:
        TypeError, ValueError: something in it has no form in JSON.
    """
    message = {'type': kind, **content}
    try:
        line = _dumps(message)
    except ValueError:
        line = _dumps(without_infinities(message))
    return line.encode(errors='replace').decode()


def _dumps(message: Any) -> str:
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(',', ':'))


def short(text: str) -> str:
    """Return a text cut to what a page shows of it."""
    return text if len(text) <= MAX_SHOWN else f'{text[:MAX_SHOWN]}…'


def in_short(error: Exception) -> str:
    """Return an error for the log; the text of some holds the whole value that caused them."""
    return f'{type(error).__name__}: {ascii(str(error)[:200])}'


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 3) for value in values]


def prediction_content(prediction: StampedPrediction) -> dict[str, Any]:
    """Return a prediction for JSON."""
    return {
        'stamp': str(prediction.stamp),
        'predicted': list(prediction.predicted),
        'probabilities': _rounded(prediction.probabilities),
        'by_probability': prediction.by_probability,
        'threshold': round(float(prediction.threshold), 3),
        'scores': _rounded(prediction.scores),
        'novelty': round(float(prediction.novelty), 3),
        'unknown': prediction.unknown,
        'version': prediction.version,
    }


def sample_content(sample: TaughtSample) -> dict[str, Any]:
    """Return a learnt sample for JSON."""
    said = sample.annotation
    return {
        'number': sample.number, 'taught': sample.taught / NANOSECONDS, 'labels': said.labels,
        'absent': said.absent, 'complete': said.complete, 'who': said.annotator,
        'picture': sample.has_picture, 'doubtful': sample.doubtful, 'expected': sample.expected,
        'doubt': None if math.isnan(sample.doubt) else round(sample.doubt, 3)}


def region_content(prediction: StampedPrediction) -> dict[str, Any]:
    """Return the answer about a box for JSON; its numbers as they are, since they name it."""
    where = prediction.position
    return {'region': prediction.region._asdict(), 'predicted': list(prediction.predicted),
            'metres': None if where is None else round(math.hypot(*where), 2),
            'novelty': round(float(prediction.novelty), 3), 'unknown': prediction.unknown,
            'probabilities': _rounded(prediction.probabilities),
            'scores': _rounded(prediction.scores)}


def _query_content(query: Query, pictures: PictureCache, label: str = '') -> dict[str, Any]:
    """Return a query for JSON; `label` is the doubtful one."""
    picture = pictures.find(query.vector.stamp)
    return {
        'stamp': str(query.vector.stamp),
        'size': picture.size if picture is not None else (0, 0),
        'region': None if query.vector.region.is_whole else query.vector.region._asdict(),
        'text': short(query.text),
        'label': label,
        'question': question(label),
        'shares': [(name, round(share, 3)) for name, share in shares(query)],
        'candidates': list(query.candidates),
        'scores': [round(float(score), 3) for score in query.scores],
        'novelty': round(float(query.novelty), 3),
        'picture': picture is not None,
    }


class Payloads:
    """Makes the message of each part once, however many pages wait for it.

    Args:
        view: what is known of the classifier.
        pictures: the camera's pictures.
        classifier: full name of the classifier node.
        warn: takes the kind and the text of a log line.
    """

    def __init__(self, view: ClassifierView, pictures: PictureCache, classifier: str,
                 warn: Warn) -> None:
        self.view = view
        self.pictures = pictures
        self.classifier = classifier
        self.operators = 0
        self.burst_rate = 10.0
        self.transfers = False
        self._warn = warn
        self._made: dict[ViewPart, str | bytes | None] = {}

    def forget(self, part: ViewPart) -> None:
        """Make the message of a part again: it changed."""
        self._made.pop(part, None)

    def payload(self, part: ViewPart) -> str | bytes | None:
        """Return the newest message of a part; None where there is nothing to show.

        A part that cannot be sent is left out and logged; the others still reach the pages.
        """
        if part not in self._made:
            try:
                self._made[part] = getattr(self, f'_{part.value}')()
            except (ArithmeticError, TypeError, ValueError) as error:
                self._made[part] = None
                self._warn(f'{part.value} not shown',
                           f'The pages do not show the newest {part.value}: {in_short(error)}')
        return self._made[part]

    def _shown(self) -> tuple[StampedPrediction | None, CameraPicture | None]:
        """Return a prediction and the picture that it is about, as new as there are both.

        Without such a picture it is the newest prediction alone: a picture of another moment would
        let people teach what they do not see.
        """
        prediction = self.view.prediction
        picture = self.pictures.newest_among(self.view.predictions)
        if prediction is None or picture is None or (
                prediction.stamp - picture.stamp > MAX_LAG):
            return prediction, None
        return self.view.predictions[picture.stamp], picture

    def _prediction(self) -> str | None:
        prediction, picture = self._shown()
        if prediction is None:
            return None
        return as_json('prediction', **prediction_content(prediction),
                       picture=picture is not None, size=picture.size if picture else (0, 0),
                       regions=[region_content(one)
                                for one in self.view.regions.predictions(prediction.stamp)])

    def _picture(self) -> bytes | None:
        """Return the picture for the page: its stamp, then the JPEG; without one, nothing more."""
        prediction, picture = self._shown()
        if prediction is None:
            return None
        return prediction.stamp.to_bytes(8, 'big', signed=True) + (
            b'' if picture is None else picture.jpeg)

    def _labels(self) -> str:
        table = self.view.labels
        return as_json('labels', names=table.names, counts=table.counts,
                       thresholds=[round(float(value), 3) for value in table.thresholds],
                       samples=table.samples, version=table.version, sure=SURE_SHARE)

    def _queries(self) -> str:
        """Return the newest queries first; none before the first label, and few at a time."""
        known = self.view.labels.names
        newest = list(self.view.queries)[:-MAX_ASKED - 1:-1] if known else []
        return as_json('queries', queries=[
            _query_content(query, self.pictures, doubtful_label(query, self.view.labels))
            for query in newest])

    def _curve(self) -> str:
        curve = self.view.curve
        return as_json('curve', introductions=curve.introductions, points=[
            (samples, round(loss, 4)) for samples, loss in curve.points])

    def _activity(self) -> str:
        return as_json('activity', entries=[
            {'number': entry.number, 'time': round(entry.time, 3), 'who': entry.who,
             'text': short(entry.text)} for entry in self.view.activity.entries])

    def _progress(self) -> str:
        truth, lately = self.view.truth, self.view.progress
        return as_json(
            'progress', right=sum(lately), of=len(lately), truth=truth.sentence,
            caution=truth.caution, advice=truth.needs_more, silence=truth.silence,
            label_truth={name: (one.right, one.of) for name, one in truth.labels.items()},
            confusions=[{'label': one.label, 'other': one.other, 'count': one.times,
                         'pictures': [sample.number for sample in (one.mistaken, one.beside)
                                      if sample is not None and one.mistaken is not None]}
                        for one in truth.confusions])

    def _source(self) -> str | None:
        source = self.view.source
        return None if source is None else as_json(
            'source', **{**asdict(source), 'since': str(source.since)})

    def _health(self) -> str:
        now = time.monotonic()
        connection = self.view.connection(now)
        health = self.view.health
        live = connection is Connection.LIVE
        return as_json('health', connection=connection.value, live=live,
                       stopped=self.view.trouble(now),
                       guide=next_step(self.view.labels, self.view.prediction),
                       burst_rate=self.burst_rate, transfers=self.transfers,
                       rate=round(self.view.rate(now), 1), level=health.level,
                       message=short(health.message), operators=self.operators,
                       values=[(short(key), short(value)) for key, value in health.values],
                       classifier=self.classifier, picture=short(self.view.picture_note))
