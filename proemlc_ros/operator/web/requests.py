# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The requests of a page: each is checked, then carried out."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from proemlc_ros.classifier.validation import MOST_NUMBERS
from proemlc_ros.core.labels import is_hidden
from proemlc_ros.errors import OperatorRequestError, ProEMLCError
from proemlc_ros.label_text import near_duplicates
from proemlc_ros.operator.actions import ActionResult, Actions
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.draft import NEAR_COPY, NearCopies, annotation_at, burst_request
from proemlc_ros.operator.recent import PictureCache
from proemlc_ros.operator.region_view import ANSWER_TIMEOUT, RegionView
from proemlc_ros.operator.web.payloads import (
    Warn,
    in_short,
    prediction_content,
    region_content,
    sample_content,
)
from proemlc_ros.records import WHOLE, Annotation, Region, SampleOrder, SampleQuery
from proemlc_ros.regions import OWN_BOXES

# Characters of an operator's name.
MAX_NAME = 40
_BURST = re.compile(r'[0-9a-f]{12}')

MAX_TEXT = 200
MAX_NAMES = 2000
# Larger numbers are not exact in JavaScript.
MAX_NUMBER = 2**53
Content = dict[str, Any]
NUMBERS = ('center_x', 'center_y', 'size_x', 'size_y')
# Pixels; no picture is larger.
LARGEST = 1e6
MOST_LISTED = 500
# Orders of the gallery.
LISTED = {order.name.lower(): order
          for order in (SampleOrder.NEWEST, SampleOrder.OLDEST, SampleOrder.DOUBTFUL)}
# Taught pictures beside a prediction.
NEAREST = 3


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
            'hold': self._hold, 'annotate': self._annotate,
            'rename': self._rename, 'remove': self._remove, 'save': self._save,
            'load': self._load, 'similar': self._similar, 'skip': self._skip,
            'name': self._name, 'nearest': self._nearest, 'source': self._source,
            'draw': self._draw, 'look': self._look, 'samples': self._samples,
            'change_samples': self._change_samples,
            'merge_labels': self._merge_labels, 'history': self._history,
            'undo_change': partial(self._turn, True), 'redo_change': partial(self._turn, False),
            'models': self._models,
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
        about, region = stamp(request), _region_of_request(request)
        annotation = annotation_at(
            self._view.vectors, about, names(request, 'labels'),
            names(request, 'absent'), flag(request, 'complete'), self.who,
            self._view.regions.vector(about, region), region)
        request_id = self._bursts.request_id(request, annotation)
        if request_id is None:
            return {'done': True, 'message': self._bursts.copies.advice, 'skipped': True}
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
        region = _region_of_request(request)
        if region.is_whole:
            raise OperatorRequestError("'region' is missing")
        return await draw(self._actions, self._view.regions, stamp(request), region)

    async def _look(self, request: Content) -> Content:
        """Have the feature node's own boxes of a picture classified."""
        about = stamp(request)
        answers = self._view.regions.look(about)
        await self._actions.draw(about, OWN_BOXES)
        try:
            found = [region_content(one) for one in await asyncio.wait_for(
                answers, ANSWER_TIMEOUT)]
        except (asyncio.TimeoutError, asyncio.CancelledError):
            found = []
        return {'done': bool(found), 'answers': found, 'message': '' if found else
                'no box came: nothing stands out, or the feature node is not running with a '
                'camera alone'}

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
        return {'done': True, 'message': '', 'similar': {
            name: similar for name in names(request, 'labels')
            if (similar := near_duplicates(name, known))}}

    async def _nearest(self, request: Content) -> Content:
        """Return the taught samples that are most like a picture; none without its vector."""
        vector = self._view.vectors.find(stamp(request))
        if vector is None:
            return {'done': True, 'message': '', 'samples': []}
        found = await self._actions.samples(SampleQuery(
            order=SampleOrder.NEAREST, limit=NEAREST, near=vector.data))
        return {'done': True, 'message': '',
                'samples': [sample_content(sample) for sample in found.samples]}

    async def _skip(self, request: Content) -> Content:
        self._view.settle(stamp(request))
        return {'done': True, 'message': ''}

    async def _source(self, request: Content) -> Content:
        return reply_of(await self._actions.control_source(
            text(request, 'command'), number(request, 'position'), names(request, 'things')))

    async def _name(self, request: Content) -> Content:
        self.who = text(request, 'who').strip()[:MAX_NAME].rstrip() or self._nameless
        return {'done': True, 'message': ''}

    # ----- looking through what was taught, and correcting it -----

    async def _samples(self, request: Content) -> Content:
        order = text(request, 'order')
        if order not in LISTED:
            raise OperatorRequestError(f"'order' must be one of {', '.join(LISTED)}")
        found = await self._actions.samples(SampleQuery(
            text(request, 'label'), text(request, 'who') if 'who' in request else None,
            LISTED[order], number(request, 'offset'), min(number(request, 'limit'), MOST_LISTED)))
        return {'done': True, 'message': '', 'total': found.total, 'people': found.people,
                'samples': [sample_content(sample) for sample in found.samples]}

    async def _change_samples(self, request: Content) -> Content:
        return reply_of(await self._actions.change_samples(
            self.who, numbers(request, 'samples'), names(request, 'labels'),
            flag(request, 'remove')))

    async def _merge_labels(self, request: Content) -> Content:
        return reply_of(await self._actions.merge_labels(
            self.who, text(request, 'label'), text(request, 'into')))

    async def _history(self, request: Content) -> Content:
        found = await self._actions.history(
            self.who, flag(request, 'mine'), number(request, 'offset'),
            min(number(request, 'limit'), MOST_LISTED))
        return {'done': True, 'message': '', 'you': self.who, **asdict(found)}

    async def _turn(self, undo: bool, request: Content) -> Content:
        steps = numbers(request, 'steps')
        if not steps:
            raise OperatorRequestError("'steps' must name what is meant")
        return reply_of(await self._actions.turn(self.who, undo, steps, flag(request, 'mine')))

    async def _models(self, request: Content) -> Content:
        return {'done': True, 'message': '',
                'files': [asdict(file) for file in await self._actions.models()]}


class BurstRequests:
    """Tells the samples of one page's bursts apart from single annotations.

    Args:
        near_copy: distance below which a sample is left out; see NearCopies.
    """

    def __init__(self, near_copy: float) -> None:
        self.copies = NearCopies(near_copy)

    def request_id(self, request: Content, annotation: Annotation) -> str | None:
        """Return the request id of an annotation, empty for a single one; None: leave it out."""
        if 'burst' not in request:
            return ''
        burst, place = text(request, 'burst'), number(request, 'number')
        if not _BURST.fullmatch(burst):
            raise OperatorRequestError("'burst' must be 12 hexadecimal digits")
        if annotation.features is not None and self.copies.is_near(burst, annotation.features):
            return None
        return burst_request(burst, place)


def valid_text(value: object, field: str) -> str:
    """Return a text that may go into JSON, messages, files and logs.

    Every text of a request passes here, once; what a text means is checked by its receiver.

    Args:
        value: of the request.
        field: its name, for the error.

    Raises:
        OperatorRequestError: not a text, too long, or with characters that do not show, such as
            control characters or half of a surrogate pair.
    """
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise OperatorRequestError(f'{field!r} must be a text of at most {MAX_TEXT} characters')
    if value.isascii() and value.isprintable():
        return value
    for character in value:
        if is_hidden(character):
            raise OperatorRequestError(
                f'{field!r} has the control or invisible character U+{ord(character):04X}; '
                'leave it out')
    return value


def text(request: Content, field: str) -> str:
    """Return a text of a request, checked."""
    return valid_text(request.get(field), field)


def names(request: Content, field: str) -> tuple[str, ...]:
    """Return a list of label names of a request, checked; the classifier checks each name."""
    value = request.get(field, [])
    if not isinstance(value, list) or len(value) > MAX_NAMES:
        raise OperatorRequestError(f'{field!r} must be a list of at most {MAX_NAMES} names')
    return tuple(valid_text(name, field) for name in value)


def flag(request: Content, field: str) -> bool:
    """Return a yes or no of a request, checked."""
    value = request.get(field)
    if not isinstance(value, bool):
        raise OperatorRequestError(f'{field!r} must be true or false')
    return value


def stamp(request: Content) -> int:
    """Return the stamp of a request in nanoseconds, checked."""
    value = text(request, 'stamp')
    if not (value.isascii() and value.isdigit() and int(value) < 2**63):
        raise OperatorRequestError(f"'stamp' must be nanoseconds in digits, not {value[:30]!r}")
    return int(value)


def number(request: Content, field: str) -> int:
    """Return a whole number of a request that is not negative, checked; 0 where it is missing."""
    value = request.get(field, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_NUMBER:
        raise OperatorRequestError(f'{field!r} must be a whole number from 0 on')
    return value


def _region_of_request(request: Content) -> Region:
    """Return the box of a request, checked; the whole picture where it names none.

    Raises:
        OperatorRequestError: not a box.
    """
    value = request.get('region')
    if value is None:
        return WHOLE
    if not isinstance(value, dict):
        raise OperatorRequestError("'region' must be a JSON object")
    numbers = [value.get(name) for name in NUMBERS]
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool)
               and math.isfinite(one) and abs(one) <= LARGEST for one in numbers):
        raise OperatorRequestError(f"'region' must have the numbers {', '.join(NUMBERS)}")
    name = valid_text(value.get('id', ''), 'region.id')
    region = Region(name, *(float(one) for one in numbers))  # type: ignore[arg-type]
    if not (region.size_x > 0 and region.size_y > 0):
        raise OperatorRequestError("'region' must have a size")
    return region


async def draw(actions: Actions, view: RegionView, stamp: int, region: Region) -> dict[str, Any]:
    """Have a drawn box cut out and classified; return the answer about it as a reply.

    Raises:
        OperatorRequestError: no answer came.
    """
    answer = view.expect(stamp, region)
    await actions.draw(stamp, region)
    try:
        prediction = await asyncio.wait_for(answer, ANSWER_TIMEOUT)
    except (asyncio.TimeoutError, asyncio.CancelledError):
        raise OperatorRequestError(
            'no answer about the box: is the feature node running, with a camera alone, and is '
            'the picture recent? Its diagnostics say why a box is rejected') from None
    return {'done': True, 'message': '', 'answer': region_content(prediction)}


def numbers(request: Content, field: str) -> list[int]:
    """Return a list of numbers of a request, checked."""
    value = request.get(field)
    if not isinstance(value, list) or len(value) > MOST_NUMBERS or not all(
            type(one) is int and 0 < one < MAX_NUMBER for one in value):
        raise OperatorRequestError(
            f'{field!r} must be a list of numbers above 0, at most {MOST_NUMBERS}')
    return value


def reply_of(result: ActionResult) -> Content:
    """Return an action's result for JSON."""
    return {'done': result.done, 'message': result.message}
