# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The requests of a page: each is checked, then carried out."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any

from proemlc_ros.errors import OperatorRequestError, ProEMLCError
from proemlc_ros.operator.actions import ActionResult, Actions
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.draft import annotation_at
from proemlc_ros.operator.pictures import PictureCache
from proemlc_ros.operator.similar import near_duplicates
from proemlc_ros.operator.web.payloads import Warn, in_short, prediction_content

MAX_TEXT = 200
MAX_NAMES = 2000
# Characters of an operator's name.
MAX_NAME = 40
# Larger numbers are not exact in JavaScript.
MAX_NUMBER = 2**53
# Control, format, surrogate, private-use, unassigned, line and paragraph separator.
_HIDDEN = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'})
# Of category Cf, yet they spell words in several scripts, and emoji.
_JOINERS = frozenset('\u200c\u200d')
Content = dict[str, Any]


class Requests:
    """Answers the requests of one operator.

    Args:
        view: what is known of the classifier.
        pictures: the camera's pictures.
        actions: the classifier's services.
        who: the operator's name until another is given.
        warn: takes the kind and the text of a log line.
    """

    def __init__(self, view: ClassifierView, pictures: PictureCache, actions: Actions,
                 who: str, warn: Warn) -> None:
        self.who = self._nameless = who
        self._view = view
        self._pictures = pictures
        self._actions = actions
        self._warn = warn
        self._known: dict[str, Callable[[Content], Awaitable[Content]]] = {
            'hold': self._hold, 'annotate': self._annotate, 'undo': self._undo,
            'rename': self._rename, 'remove': self._remove, 'save': self._save,
            'load': self._load, 'similar': self._similar, 'skip': self._skip,
            'name': self._name,
        }

    async def answer(self, request: object) -> Content:
        """Carry out a request and return the reply; errors become replies too."""
        number = request.get('id') if isinstance(request, dict) else None
        number = number if isinstance(number, int) and abs(number) < MAX_NUMBER else None
        try:
            reply = await self._do(request)
        except ProEMLCError as error:
            reply = {'done': False, 'message': str(error)}
        except Exception as error:  # A fault of ours; the page and the others go on.
            self._warn('request failed', f'A request of {self.who!r} failed: {in_short(error)}')
            reply = {'done': False, 'message': 'the dashboard failed; its log says why'}
        return {'id': number, **reply}

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
        held = self._view.vectors.hold(held_stamp)
        return {'done': held, 'message': '' if held else
                'only the stamp is known, not the vector; answer before the classifier drops it'}

    async def _annotate(self, request: Content) -> Content:
        annotation = annotation_at(
            self._view.vectors, stamp(request), names(request, 'labels'),
            names(request, 'absent'), flag(request, 'complete'), self.who)
        result = await self._actions.annotate(annotation)
        reply = reply_of(result)
        if result.done:
            reply['now'] = await self._seen_now(annotation.stamp)
        return reply

    async def _seen_now(self, taught: int) -> Content | None:
        """Return the new prediction; without one the annotation is learnt all the same."""
        try:
            now = await self._actions.predict(taught)
            return None if now is None else prediction_content(now)
        except Exception as error:
            self._warn('predict failed', f'No prediction after an annotation: {in_short(error)}')
            return None

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
        return reply_of(await self._actions.save(self.who, text(request, 'file_name')))

    async def _load(self, request: Content) -> Content:
        return reply_of(await self._actions.load(self.who, text(request, 'file_name')))

    async def _similar(self, request: Content) -> Content:
        known = self._view.labels.names
        return {'done': True, 'message': '',
                'similar': near_duplicates(text(request, 'label'), known)}

    async def _skip(self, request: Content) -> Content:
        self._view.settle(stamp(request))
        return {'done': True, 'message': ''}

    async def _name(self, request: Content) -> Content:
        self.who = text(request, 'who').strip()[:MAX_NAME].rstrip() or self._nameless
        return {'done': True, 'message': ''}


def reply_of(result: ActionResult) -> Content:
    """Return an action's result for JSON."""
    return {'done': result.done, 'message': result.message}


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
        if unicodedata.category(character) in _HIDDEN and character not in _JOINERS:
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
