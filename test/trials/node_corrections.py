# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The client of a classifier node that is killed: teaches and corrects by its services.

Every request has a tag of its own, as its annotator, by which the journal is searched afterwards:
an acknowledged request is there as often as it must be, any other at most as often. What is drawn
is a list of steps, so that any part of it can be done again.
"""

from __future__ import annotations

import random
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import rclpy
from proemlc_ros.msg import HistoryStep, ModelEvent
from proemlc_ros.srv import Annotate, ChangeSamples, ListHistory, UndoChange
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future

from proemlc_ros.journal.entries import JournalEntry
from proemlc_ros.records import Annotation, EventKind

SERVICES = {'annotate': Annotate, 'change_samples': ChangeSamples, 'undo_change': UndoChange,
            'redo_change': UndoChange, 'list_history': ListHistory}
# Seconds after which a request is given up: DDS may have sent it to a server that was killed.
PATIENCE = 3.0
# Annotations of bursts that are acknowledged before the time to the kill begins.
LEAST = 5
NAMES = [f'label {number}' for number in range(5)]
# What is done and with what: words, numbers and lists of them.
Step = list[Any]


class KilledError(Exception):
    """The node was killed while an answer was awaited."""


@dataclass
class Request:
    """One request, and what came of it.

    Args:
        action: teach, burst, relabel, delete, undo or redo.
        service: name of the service.
        fields: of the request.
        entries: number of journal entries that it makes.
        acknowledged: whether the node said that it is done.
    """

    action: str
    service: str
    fields: dict[str, Any]
    entries: int = 1
    acknowledged: bool = False

    def matches(self, record: Any) -> bool:
        """Whether a record of the journal is what was asked for."""
        if self.service == 'annotate':
            said = self.fields['annotation']
            return (isinstance(record, Annotation) and record.labels == tuple(said.labels)
                    and np.array_equal(record.features, said.features))
        if self.service == 'change_samples':
            kind = EventKind.DELETE if self.fields['remove'] else EventKind.RELABEL
            return (record.kind is kind and record.sample in self.fields['samples']
                    and (kind is EventKind.DELETE or list(record.labels) == self.fields['labels']))
        kind = EventKind.UNDO if self.action == 'undo' else EventKind.REDO
        return record.kind is kind and record.sample in self.fields['steps']


def draw(dice: random.Random, number: int, samples: int, redo: bool) -> Step:
    """Draw a step of teaching or correcting.

    Args:
        dice: what draws.
        number: of the step; vectors follow from it.
        samples: that can be corrected.
        redo: whether there is something to redo.
    """
    actions = ['teach', 'burst']
    if samples > 20:
        actions += ['relabel', 'delete', 'relabel', 'delete', 'undo']
    if redo:
        actions += ['redo', 'redo']
    action = dice.choice(actions)
    if action in ('teach', 'burst'):
        count = 1 if action == 'teach' else dice.randint(2, 6)
        return [action, number, [dice.choice(NAMES) for _ in range(count)]]
    if action in ('undo', 'redo'):
        return [action]
    return [action, dice.randrange(1000), dice.choice(NAMES)]


class Corrector:
    """Teaches and corrects at random until told to stop, or as it is told.

    Args:
        context: of rclpy.
        width: values of a vector.
        seed: of everything that is chosen.
    """

    def __init__(self, context: Any, width: int, seed: int) -> None:
        self.requests: dict[str, Request] = {}
        self.counts: Counter[str] = Counter()
        self.steps: list[Step] = []
        self.overrun = 0.0
        self._node = rclpy.create_node('corrector', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._dice = random.Random(seed)
        self._width = width
        self._clients: dict[str, Any] = {}
        self._unanswered: list[str] = []
        self._deadline = self._begun = 0.0

    def work(self, seconds: float, kill: Callable[[], None],
             again: list[Step] | None = None) -> None:
        """Work for a time once some is done, and have the node killed in the middle.

        `steps` then has what was done, and `overrun` the seconds since the last of it began.

        Args:
            seconds: since the first bursts, or since the last of the steps to do again.
            kill: ends the node.
            again: steps to do; None: draw them.
        """
        # Those of earlier lives know servers that are gone.
        for client in self._clients.values():
            self._node.destroy_client(client)
        self._clients = {name: self._node.create_client(kind, f'/proemlc/{name}')
                         for name, kind in SERVICES.items()}
        for client in self._clients.values():
            assert client.wait_for_service(240), f'no service {client.srv_name}'
        self._deadline, self._begun, self.steps = float('inf'), time.monotonic(), []
        bursts = self.counts['burst']
        try:
            unanswered, self._unanswered = self._unanswered, []
            self._send(unanswered)  # As the page does: the same request with the same id.
            if again is not None:
                for step in again[:-1]:
                    self._act(step)
                self._deadline = time.monotonic() + seconds
                for step in again[-1:]:
                    self._act(step)
            while again is None:
                if self._deadline == float('inf') and self.counts['burst'] >= bursts + LEAST:
                    self._deadline = time.monotonic() + seconds
                self._act()
            while True:
                self._wait([Future()])
        except KilledError:
            self.overrun = time.monotonic() - self._begun
            kill()

    def close(self) -> None:
        """Receive nothing any more; the node goes with its process."""
        self._executor.shutdown()

    def _act(self, step: Step | None = None) -> None:
        """Do a step, or draw it first."""
        history = self._list_history()
        if history is None:
            return
        step = step or self._draw(len(_samples(history.steps)), bool(history.next_redo))
        self.steps.append(step)
        self._begun = time.monotonic()
        self._perform(step, history)

    def _draw(self, samples: int, redo: bool) -> Step:
        return draw(self._dice, len(self.requests) + 1, samples, redo)

    def _perform(self, step: Step, history: Any) -> None:
        """Do a step as far as that is possible now."""
        action, *words = step
        samples = _samples(history.steps)
        if action in ('teach', 'burst'):
            self._teach(action, *words)
        elif action in ('undo', 'redo'):
            steps = history.next_undo if action == 'undo' else history.next_redo
            numbers = [step.number for step in steps]
            if numbers:
                self._send([self._new(action, f'{action}_change', len(numbers), steps=numbers)])
        elif samples:
            self._send([self._new(
                action, 'change_samples', samples=[samples[words[0] % len(samples)]],
                labels=[words[1]], remove=action == 'delete')])

    def _list_history(self) -> Any:
        future = self._clients['list_history'].call_async(ListHistory.Request(limit=60))
        self._wait([future])
        return future.result() if future.done() else None

    def _teach(self, action: str, number: int, labels: list[str]) -> None:
        tags = []
        group = len(self.requests) + 1
        for place, label in enumerate(labels):
            request = Annotate.Request(request_id=f'burst:{group:012x}:{place}')
            request.annotation.header.stamp.sec = len(self.requests) + 1
            request.annotation.labels = [label]
            request.annotation.features = array('f', np.random.default_rng(number + place).normal(
                size=self._width))
            tags.append(self._new(action, 'annotate', annotation=request.annotation,
                                  request_id=request.request_id))
        self._send(tags)

    def _new(self, action: str, service: str, entries: int = 1, **fields: Any) -> str:
        tag = f'request {len(self.requests) + 1}'
        if service == 'annotate':
            fields['annotation'].annotator = tag
        else:
            fields['annotator'] = tag
        self.requests[tag] = Request(action, service, fields, entries)
        return tag

    def _send(self, tags: list[str]) -> None:
        """Send requests at once, and note which are acknowledged."""
        futures = {tag: self._clients[self.requests[tag].service].call_async(
            SERVICES[self.requests[tag].service].Request(**self.requests[tag].fields))
            for tag in tags}
        try:
            self._wait(futures.values())
        finally:
            for tag, future in futures.items():
                self._note(tag, future)

    def _note(self, tag: str, future: Any) -> None:
        request = self.requests[tag]
        if not future.done():
            self.counts['unanswered'] += 1
            if request.service == 'annotate':
                self._unanswered.append(tag)
        elif future.result().success:
            request.acknowledged = True
            self.counts[request.action] += 1
        else:
            self.counts['rejected'] += 1

    def _wait(self, futures: Iterable[Any]) -> None:
        """Wait for answers.

        Raises:
            KilledError: it is time to kill the node.
        """
        end = time.monotonic() + PATIENCE
        while not all(future.done() for future in futures) and time.monotonic() < end:
            if time.monotonic() > self._deadline:
                raise KilledError
            self._executor.spin_once(0.001)


def _samples(steps: list[Any]) -> list[int]:
    """Return the numbers of the samples that are in force, of a list of steps."""
    held = [step for step in steps if not step.undone]
    deleted = {step.sample for step in held if step.kind == ModelEvent.DELETE}
    return [step.number for step in held
            if step.kind == HistoryStep.ANNOTATION and step.number not in deleted]


def compare(requests: dict[str, Request], entries: Iterable[JournalEntry]) -> tuple[int, int]:
    """Return how many acknowledged requests the journal lacks, and how many it has twice."""
    found: dict[str, list[Any]] = defaultdict(list)
    for entry in entries:
        found[entry.record.annotator].append(entry.record)
    assert found.keys() <= requests.keys(), 'entries that nobody asked for'
    lost = doubled = 0
    for tag, request in requests.items():
        records = found.get(tag, [])
        assert all(map(request.matches, records)), (tag, request, records)
        lost += request.acknowledged and len(records) < request.entries
        doubled += len(records) > request.entries
    return lost, doubled
