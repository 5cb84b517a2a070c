# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The thread that teaches: it waits for the disk, so that predictions need not."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from proemlc_ros.classifier.durable_model import DurableModel, Learnt
from proemlc_ros.classifier.records import Annotation
from proemlc_ros.errors import JournalError, ProEMLCError, RateExceededError

OnTaught = Callable[[Annotation, 'Learnt | ProEMLCError'], None]


@dataclass(slots=True, eq=False)
class Waiting:
    """An annotation in the queue, and who wants to know how it went."""

    annotation: Annotation
    done: OnTaught


class LearningThread:
    """Teaches queued annotations in order, all that wait in one journal transaction.

    Args:
        session: whom to teach.
        capacity: annotations that may wait.
        on_error: told about failures that no caller waits for, in words.
    """

    def __init__(self, session: DurableModel, capacity: int, on_error: Callable[[str], None]) -> None:
        self.capacity = capacity
        self._session = session
        self._on_error = on_error
        self._queue: deque[Waiting | Callable[[], None]] = deque()
        self._condition = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='teacher', daemon=True)
        self._thread.start()

    def teach(self, annotation: Annotation, done: OnTaught) -> None:
        """Queue an annotation.

        Args:
            annotation: with its features.
            done: called in the teaching thread with the answer.

        Raises:
            RateExceededError: too many wait already.
        """
        with self._condition:
            if len(self._queue) >= self.capacity:
                raise RateExceededError(
                    'queue_full', f'{self.capacity} annotations already wait to be written; '
                    'annotate more slowly or raise held_annotations')
            self._queue.append(Waiting(annotation, done))
            self._condition.notify()

    def call(self, action: Callable[[], None]) -> None:
        """Queue an action that changes the model, behind the annotations before it."""
        with self._condition:
            self._queue.append(action)
            self._condition.notify()

    def close(self) -> None:
        """Finish what is queued and stop."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._queue and not self._stopping:
                    self._condition.wait()
                if not self._queue:
                    return
                work = list(self._queue)
                self._queue.clear()
            self._work_off(work)

    def _work_off(self, work: list[Waiting | Callable[[], None]]) -> None:
        lessons: list[Waiting] = []
        for item in work:
            if isinstance(item, Waiting):
                lessons.append(item)
                continue
            self._teach(lessons)
            lessons = []
            self._guarded(item)
        self._teach(lessons)

    def _teach(self, lessons: list[Waiting]) -> None:
        if not lessons:
            return
        try:
            answers = self._session.teach([lesson.annotation for lesson in lessons])
        except Exception as error:  # A fault of ours; whoever waits must hear of it.
            self._on_error(f'teaching failed: {error!r}')
            answers = [JournalError(f'internal error: {error!r}')] * len(lessons)
        for lesson, answer in zip(lessons, answers, strict=True):
            self._guarded(partial(lesson.done, lesson.annotation, answer))

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # The thread must live on.
            self._on_error(f'{error!r}')
