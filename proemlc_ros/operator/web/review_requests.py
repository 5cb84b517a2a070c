# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The requests of a page about what was taught: gallery, corrections, history, files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from proemlc_ros.errors import OperatorRequestError
from proemlc_ros.operator.actions import ActionResult
from proemlc_ros.operator.review import ORDERS, ReviewActions, SampleChoice
from proemlc_ros.operator.web.request_fields import MAX_NUMBER, Content, flag, names, number, text

MOST_LISTED = 500
# Samples that one request may change.
MOST_CHANGED = 500


class ReviewRequests:
    """Answers these requests for one operator.

    Args:
        actions: the classifier's services.
        who: returns the operator's name.
    """

    def __init__(self, actions: ReviewActions, who: Callable[[], str]) -> None:
        self._actions = actions
        self._who = who
        self.known: dict[str, Callable[[Content], Awaitable[Content]]] = {
            'samples': self._samples, 'change_samples': self._change_samples,
            'merge_labels': self._merge_labels, 'history': self._history,
            'undo_change': self._undo_change, 'redo_change': self._redo_change,
            'models': self._models, 'reembed': self._reembed,
        }

    async def _samples(self, request: Content) -> Content:
        order = text(request, 'order')
        if order not in ORDERS:
            raise OperatorRequestError(f"'order' must be one of {', '.join(ORDERS)}")
        found = await self._actions.samples(SampleChoice(
            text(request, 'label'), text(request, 'who') if 'who' in request else None, order,
            number(request, 'offset'), min(number(request, 'limit'), MOST_LISTED)))
        return {'done': True, 'message': '', 'total': found.total, 'people': found.people,
                'samples': [asdict(sample) for sample in found.samples]}

    async def _change_samples(self, request: Content) -> Content:
        return reply_of(await self._actions.change_samples(
            self._who(), numbers(request, 'samples', MOST_CHANGED), names(request, 'labels'),
            flag(request, 'remove')))

    async def _merge_labels(self, request: Content) -> Content:
        return reply_of(await self._actions.merge_labels(
            self._who(), text(request, 'label'), text(request, 'into')))

    async def _history(self, request: Content) -> Content:
        found = await self._actions.history(
            self._who(), flag(request, 'mine'), number(request, 'offset'),
            min(number(request, 'limit'), MOST_LISTED))
        return {'done': True, 'message': '', 'you': self._who(), **asdict(found)}

    async def _undo_change(self, request: Content) -> Content:
        return await self._turn(request, undo=True)

    async def _redo_change(self, request: Content) -> Content:
        return await self._turn(request, undo=False)

    async def _turn(self, request: Content, undo: bool) -> Content:
        steps = numbers(request, 'steps', MAX_NUMBER)
        if not steps:
            raise OperatorRequestError("'steps' must name what is meant")
        return reply_of(await self._actions.turn(self._who(), undo, steps, flag(request, 'mine')))

    async def _models(self, request: Content) -> Content:
        return {'done': True, 'message': '',
                'files': [asdict(file) for file in await self._actions.models()]}

    async def _reembed(self, request: Content) -> Content:
        return reply_of(await self._actions.reembed(self._who(), text(request, 'sensors_file')))


def numbers(request: Content, field: str, most: int) -> list[int]:
    """Return a list of numbers of a request, checked."""
    value = request.get(field)
    if not isinstance(value, list) or len(value) > most or not all(
            type(one) is int and 0 < one < MAX_NUMBER for one in value):
        raise OperatorRequestError(f'{field!r} must be a list of numbers, at most {most}')
    return value


def reply_of(result: ActionResult) -> Content:
    """Return an action's result for JSON."""
    return {'done': result.done, 'message': result.message}
