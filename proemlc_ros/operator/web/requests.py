# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The requests of a page: each is checked, then carried out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from proemlc_ros.errors import OperatorRequestError, ProEMLCError
from proemlc_ros.operator.actions import Actions
from proemlc_ros.operator.burst import NearCopies, burst_request
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.draft import annotation_at
from proemlc_ros.operator.pictures import PictureCache
from proemlc_ros.operator.similar import near_duplicates
from proemlc_ros.operator.web.payloads import Warn, in_short, prediction_content
from proemlc_ros.operator.web.region_requests import draw, region_of_request
from proemlc_ros.operator.web.request_fields import (
    MAX_NUMBER,
    Content,
    flag,
    names,
    number,
    stamp,
    text,
)
from proemlc_ros.operator.web.review_requests import ReviewRequests, reply_of
from proemlc_ros.records import WHOLE, Annotation, Region

# Characters of an operator's name.
MAX_NAME = 40
# Distance between two samples of a burst, relative to their length, that makes a near copy.
NEAR_COPY = 0.02
_BURST = re.compile(r'[0-9a-f]{12}')


class Requests:
    """Answers the requests of one operator.

    Args:
        view: what is known of the classifier.
        pictures: the camera's pictures.
        actions: the classifier's services.
        who: the operator's name until another is given.
        warn: takes the kind and the text of a log line.
        near_copy: samples of a burst that are nearer than this are left out; see NearCopies.
    """

    def __init__(self, view: ClassifierView, pictures: PictureCache, actions: Actions,
                 who: str, warn: Warn, near_copy: float = NEAR_COPY) -> None:
        self.who = self._nameless = who
        self._view = view
        self._pictures = pictures
        self._actions = actions
        self._warn = warn
        self._bursts = BurstRequests(near_copy)
        self._known: dict[str, Callable[[Content], Awaitable[Content]]] = {
            'hold': self._hold, 'annotate': self._annotate, 'undo': self._undo,
            'rename': self._rename, 'remove': self._remove, 'save': self._save,
            'load': self._load, 'similar': self._similar, 'skip': self._skip,
            'name': self._name, 'source': self._source, 'draw': self._draw,
            **ReviewRequests(actions.review, lambda: self.who).known,
        }

    async def answer(self, request: object) -> Content:
        """Carry out a request and return the reply; errors become replies too."""
        asked = request.get('id') if isinstance(request, dict) else None
        asked = asked if isinstance(asked, int) and abs(asked) < MAX_NUMBER else None
        try:
            reply = await self._do(request)
        except ProEMLCError as error:
            reply = {'done': False, 'message': str(error)}
        except Exception as error:  # A fault of ours; the page and the others go on.
            self._warn('request failed', f'A request of {self.who!r} failed: {in_short(error)}')
            reply = {'done': False, 'message': 'the dashboard failed; its log says why'}
        return {'id': asked, **reply}

    async def _do(self, request: object) -> Content:
        if not isinstance(request, dict):
            raise OperatorRequestError('a request must be a JSON object')
        action = self._known.get(text(request, 'do'))
        if action is None:
            raise OperatorRequestError(
                f'no request is named {text(request, "do")!r}; known: {", ".join(self._known)}')
        return await action(request)

    async def _hold(self, request: Content) -> Content:
        """Keep the vector and the picture that the page froze, however long the answer takes."""
        held_stamp = stamp(request)
        self._pictures.hold(held_stamp)
        self._view.keep(held_stamp)
        await self._actions.draw(held_stamp, WHOLE)
        held = self._view.regions.hold(held_stamp) or self._view.vectors.hold(held_stamp)
        return {'done': held, 'message': '' if held else
                'only the stamp is known, not the vector; answer before the classifier drops it'}

    async def _annotate(self, request: Content) -> Content:
        about, region = stamp(request), region_of_request(request)
        annotation = annotation_at(
            self._view.vectors, about, names(request, 'labels'),
            names(request, 'absent'), flag(request, 'complete'), self.who,
            self._view.regions.vector(about, region), region)
        request_id = self._bursts.request_id(request, annotation)
        if request_id is None:
            return {'done': True, 'message': '', 'skipped': True}
        result = await self._actions.annotate(annotation, request_id)
        reply = reply_of(result)
        if result.done:
            reply['now'] = await self._seen_now(annotation.stamp, region)
        return reply

    async def _seen_now(self, taught: int, region: Region) -> Content | None:
        """Return the new prediction; without one the annotation is learnt all the same."""
        try:
            now = await (self._actions.predict(taught) if region.is_whole
                         else self._actions.predict(taught, region))
            return None if now is None else prediction_content(now)
        except Exception as error:
            self._warn('predict failed', f'No prediction after an annotation: {in_short(error)}')
            return None

    async def _draw(self, request: Content) -> Content:
        region = region_of_request(request)
        if region.is_whole:
            raise OperatorRequestError("'region' is missing")
        return await draw(self._actions, self._view.regions, stamp(request), region)

    async def _undo(self, request: Content) -> Content:
        """Undo the last annotation, unless somebody else changed the model meanwhile."""
        seen = request.get('seen', 0)
        seen = seen if isinstance(seen, int) else 0
        missed = [entry for entry in self._view.activity.entries
                  if entry.number > seen and entry.who != self.who]
        if missed:
            raise OperatorRequestError(
                f'not undone: meanwhile {missed[-1].who or "somebody"} {missed[-1].text}; '
                'undo again to take that back')
        return reply_of(await self._actions.undo(self.who))

    async def _rename(self, request: Content) -> Content:
        return reply_of(await self._actions.rename(
            self.who, text(request, 'label'), text(request, 'new_label')))

    async def _remove(self, request: Content) -> Content:
        return reply_of(await self._actions.remove(self.who, text(request, 'label')))

    async def _save(self, request: Content) -> Content:
        keep = [flag(request, 'keep_existing')] if 'keep_existing' in request else []
        return reply_of(await self._actions.save(self.who, text(request, 'file_name'), *keep))

    async def _load(self, request: Content) -> Content:
        return reply_of(await self._actions.load(self.who, text(request, 'file_name')))

    async def _similar(self, request: Content) -> Content:
        known = self._view.labels.names
        return {'done': True, 'message': '',
                'similar': near_duplicates(text(request, 'label'), known)}

    async def _skip(self, request: Content) -> Content:
        self._view.settle(stamp(request))
        return {'done': True, 'message': ''}

    async def _source(self, request: Content) -> Content:
        return reply_of(await self._actions.control_source(
            text(request, 'command'), number(request, 'position'), names(request, 'things')))

    async def _name(self, request: Content) -> Content:
        self.who = text(request, 'who').strip()[:MAX_NAME].rstrip() or self._nameless
        return {'done': True, 'message': ''}


class BurstRequests:
    """Tells the samples of one page's bursts apart from single annotations.

    Args:
        near_copy: distance below which a sample is left out; see NearCopies.
    """

    def __init__(self, near_copy: float) -> None:
        self._copies = NearCopies(near_copy)

    def request_id(self, request: Content, annotation: Annotation) -> str | None:
        """Return the request id of an annotation, empty for a single one; None: leave it out."""
        if 'burst' not in request:
            return ''
        burst, place = text(request, 'burst'), number(request, 'number')
        if not _BURST.fullmatch(burst):
            raise OperatorRequestError("'burst' must be 12 hexadecimal digits")
        if annotation.features is not None and self._copies.is_near(burst, annotation.features):
            return None
        return burst_request(burst, place)
