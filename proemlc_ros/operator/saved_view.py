# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What of the view outlives a restart of the dashboard: queries, activity, curve, progress."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from proemlc_ros.files import replace_text
from proemlc_ros.operator.classifier_view import ActivityEntry, ClassifierView
from proemlc_ros.operator.recent import CameraPicture, PictureCache
from proemlc_ros.records import Query, QueryReason, StampedVector

VERSION = 1
# Seconds after which a query is no longer worth an answer.
OLDEST_QUERY = 24 * 3600.0
# Queries that are kept, the newest; each with its picture.
MOST_QUERIES = 20


class SavedView:
    """Keeps a part of the view in a file.

    Args:
        path: the file; its folder is made. It may hold camera pictures: only its owner reads it.
        view: what is known of the classifier.
        pictures: the camera's pictures.
    """

    def __init__(self, path: Path, view: ClassifierView, pictures: PictureCache) -> None:
        self._path = path
        self._view = view
        self._pictures = pictures
        self._written = ''

    def save(self) -> None:
        """Write the file, where anything changed.

        Raises:
            OSError: it cannot be written.
        """
        text = json.dumps(self._content())
        if text != self._written:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            before = os.umask(0o077)
            try:
                replace_text(self._path, text)
            finally:
                os.umask(before)
            self._written = text

    def load(self) -> None:
        """Read the file into the view; without one, nothing changes.

        Raises:
            OSError, ValueError, TypeError, LookupError: it cannot be read; the view may have some
                of it, which does no harm.
        """
        if not self._path.exists():
            return
        content = json.loads(self._path.read_text(encoding='utf-8'))
        if content['version'] != VERSION or content['classifier_labels'] is None:
            return
        view = self._view
        view.activity.restore(ActivityEntry(**entry) for entry in content['activity'])
        view.curve.points = [(int(samples), float(loss)) for samples, loss in content['curve']]
        view.curve.introductions = [
            (int(samples), str(name)) for samples, name in content['introductions']]
        view.curve.known = set(map(str, content['classifier_labels']))
        # Earlier versions wrote the names: right, missed, extra.
        view.progress.extend(one if isinstance(one, bool) else not any(one[1:])
                             for one in content['progress'])
        for entry in content['queries']:
            if time.time() - float(entry['time']) < OLDEST_QUERY:
                self._load_query(entry)

    def _content(self) -> dict[str, Any]:
        view = self._view
        queries = list(view.queries)[-MOST_QUERIES:]
        known = view.curve.known
        return {
            'version': VERSION,
            'classifier_labels': None if known is None else sorted(known),
            'activity': [{'number': entry.number, 'time': entry.time, 'who': entry.who,
                          'text': entry.text} for entry in view.activity.entries],
            'curve': view.curve.points, 'introductions': view.curve.introductions,
            'progress': list(view.progress),
            'queries': [self._query_content(query) for query in queries]}

    def _query_content(self, query: Query) -> dict[str, Any]:
        vector = query.vector
        picture = self._pictures.find(vector.stamp)
        return {
            'time': query.asked_at, 'stamp': vector.stamp,
            'data': _text_of(np.asarray(vector.data, '<f4').tobytes()),
            'extractor': vector.extractor, 'text': query.text,
            'candidates': query.candidates, 'scores': list(map(float, query.scores)),
            'novelty': float(query.novelty), 'reason': int(query.reason),
            'label': query.label, 'probabilities': list(map(float, query.probabilities)),
            'picture': _text_of(picture.jpeg) if picture else ''}

    def _load_query(self, entry: dict[str, Any]) -> None:
        data = np.frombuffer(_bytes_of(entry['data']), '<f4').astype(np.float32)
        vector = StampedVector(int(entry['stamp']), data, str(entry['extractor']))
        if entry['picture']:
            self._pictures.hold(vector.stamp, CameraPicture(
                vector.stamp, _bytes_of(entry['picture'])))
        self._view.on_query(Query(
            vector, str(entry['text']), tuple(map(str, entry['candidates'])),
            tuple(map(float, entry['scores'])), float(entry['novelty']),
            QueryReason(entry['reason']), str(entry['label']),
            tuple(map(float, entry['probabilities'])), float(entry['time'])))


def _text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes_of(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
