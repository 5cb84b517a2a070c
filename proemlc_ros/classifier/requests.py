# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations that a client may send again: each is learnt once, and the first answer stands.

A client that got no answer cannot tell whether its annotation was learnt. It gives each request an
id of its own and repeats it with the same id. The answer is written to the journal in the same
transaction as the annotation, so that a crash does not separate them.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future

from proemlc_ros.errors import TextRejectedError
from proemlc_ros.foreign_text import shown
from proemlc_ros.records import ClientRequest, Learnt

# Characters.
LONGEST_ID = 100
# Requests whose answers are remembered, the most recent ones; some 0.5 kB each.
REMEMBERED = 10_000


class RequestTable:
    """The requests that wait to be learnt, and the most recent ones that were.

    A rejected request is forgotten: it has changed nothing, and is tried again when it comes
    again.

    Args:
        most: learnt requests that are remembered.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._learnt: dict[str, ClientRequest] = {}
        self._pending: dict[str, tuple[ClientRequest, Future[ClientRequest]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._learnt)

    def restore(self, references: Iterable[tuple[int, str]], except_for: Collection[int]) -> None:
        """Remember the requests of an earlier run.

        Args:
            references: number and reference of journal entries, oldest first.
            except_for: numbers of entries that were not learnt.
        """
        for number, reference in references:
            request = ClientRequest.from_reference(reference)
            if request is not None and number not in except_for:
                self._remember(request._replace(number=number))

    def claim(self, request: ClientRequest) -> Future[ClientRequest] | None:
        """Begin a request, or return the answer to the same one before.

        Returns:
            A future with the first answer; None where the request is new and `settle` must
            follow.

        Raises:
            TextRejectedError: another annotation had the same id.
        """
        with self._lock:
            answer: Future[ClientRequest] = Future()
            if request.id in self._pending:
                earlier, answer = self._pending[request.id]
            elif request.id in self._learnt:
                earlier = self._learnt[request.id]
                answer.set_result(earlier)
            else:
                self._pending[request.id] = request, answer
                return None
        if earlier.content != request.content:
            raise TextRejectedError(
                'request_id_reused', f'request_id {shown(request.id)} came before with another '
                'annotation; give each annotation an id of its own')
        return answer

    def settle(self, request: ClientRequest, learnt: Future[Learnt]) -> None:
        """End a request that was begun; whoever repeated it gets the same answer."""
        error = learnt.exception()
        done = None if error is not None else learnt.result()
        answered = (None if done is None or done.annotation.request is None
                    else done.annotation.request._replace(number=done.number))
        with self._lock:
            _, answer = self._pending.pop(request.id)
            if answered is not None:
                self._remember(answered)
        if answered is not None:
            answer.set_result(answered)
        else:
            answer.set_exception(error)

    def _remember(self, request: ClientRequest) -> None:
        self._learnt[request.id] = request
        if len(self._learnt) > self._most:
            del self._learnt[next(iter(self._learnt))]
