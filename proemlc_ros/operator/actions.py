# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What operators do to the model, by the classifier's services."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from proemlc_ros.conversions import (
    MessageFactory,
    annotation_message,
    feature_vector_message,
    stamped_prediction_of,
    taught_sample_of,
)
from proemlc_ros.errors import ClassifierUnavailableError, NoAnswerError, OperatorRequestError
from proemlc_ros.operator.classifier_view import ClassifierView
from proemlc_ros.operator.progress import Truth
from proemlc_ros.operator.questions import is_settled
from proemlc_ros.records import (
    WHOLE,
    Annotation,
    EventKind,
    Region,
    SampleOrder,
    SampleQuery,
    StampedPrediction,
    TaughtSample,
)

# Of a field of 32 bits.
_LARGEST = 2**32 - 1
# Queries that the model is asked about again at once.
_ASKED_AGAIN = 5
# Samples that the truth about the model is told from, the most doubtful first, page by page.
MAX_JUDGED = 20_000
PAGE = 1000


@dataclass(frozen=True, slots=True)
class ActionResult:
    """How an action ended: whether it was done, and the classifier's message."""

    done: bool
    message: str


@dataclass(frozen=True, slots=True)
class SampleList:
    """A page of samples, how many there are in all, and who has taught them."""

    total: int = 0
    samples: list[TaughtSample] = field(default_factory=list)
    people: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One step of the history, for people.

    Args:
        number: by which it is known.
        time: seconds since 1970.
        text: what was done.
        who: did it.
        sample: that it is about; 0: none.
        undone: whether it is undone.
        group: of steps that are undone together; empty: none.
    """

    number: int
    time: float
    text: str
    who: str = ''
    sample: int = 0
    undone: bool = False
    group: str = ''


@dataclass(frozen=True, slots=True)
class HistoryList:
    """A page of the history, newest first, and what undo and redo would change next."""

    total: int = 0
    steps: list[HistoryLine] = field(default_factory=list)
    undo: list[HistoryLine] = field(default_factory=list)
    redo: list[HistoryLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FileLine:
    """A model file: name, bytes, seconds since 1970."""

    name: str
    size: int
    time: float


class ClassifierCaller(Protocol):
    """Calls the classifier's services; nodes/operator/services.py has the ROS form."""

    @property
    def messages(self) -> MessageFactory:
        """What makes the messages of the requests."""

    @property
    def ready(self) -> bool:
        """Whether the classifier offers its services."""

    async def call(self, service: str, **fields: Any) -> Any:
        """Call a service by its name with the fields of the request; return the response.

        Raises:
            ClassifierUnavailableError: the classifier is not there.
            NoAnswerError: no answer came.
            OperatorRequestError: the security policy does not allow it.
        """

    async def comes_back(self) -> bool:
        """Wait for a classifier that went away, and tell whether it is there again."""

    async def draw(self, stamp: int, region: Region) -> None:
        """Have a box of a picture classified; one of no size only keeps the picture for later."""

    async def control_source(self, **fields: Any) -> Any:
        """Call the source of the pictures; return the response."""


class Actions:
    """What operators do, by the classifier's services; `who` is the operator.

    Args:
        caller: calls them.
        view: what is known of the classifier.
    """

    def __init__(self, caller: ClassifierCaller, view: ClassifierView) -> None:
        self._caller = caller
        self._view = view

    @property
    def ready(self) -> bool:
        """Whether the classifier offers its services."""
        return self._caller.ready

    # ----- teaching -----

    async def annotate(self, annotation: Annotation, request_id: str = '') -> ActionResult:
        """Teach an annotation; done only once it is durable. Without an id it gets one."""
        fields = {'annotation': annotation_message(self._caller.messages, annotation),
                  'request_id': request_id or str(uuid4())}
        try:
            response = await self._caller.call('annotate', **fields)
        except NoAnswerError:
            if not await self._caller.comes_back():
                raise
            # The same id: it is learnt once, whatever became of the first request.
            response = await self._caller.call('annotate', **fields)
        if response.success:
            self._view.on_learnt(annotation, published=False)
        return ActionResult(response.success, response.message)

    async def undo(self, who: str) -> ActionResult:
        """Undo the last annotation."""
        return await self._change(EventKind.UNDO, who, 'undo')

    async def rename(self, who: str, label: str, new_label: str) -> ActionResult:
        """Rename a label."""
        return await self._change(EventKind.RENAME, who, 'rename_label', label=label,
                                  new_label=new_label, annotator=who)

    async def remove(self, who: str, label: str) -> ActionResult:
        """Remove a label and what was learnt of it."""
        return await self._change(EventKind.REMOVE, who, 'remove_label', label=label,
                                  annotator=who)

    async def save(self, who: str, file_name: str, keep_existing: bool = False) -> ActionResult:
        """Write the model to a file; an empty name means the classifier's own snapshot."""
        result = await self._act('save_model', file_name=file_name, keep_existing=keep_existing)
        if result.done:
            # Saving does not change the model, so the classifier publishes no event.
            self._view.note(who, 'saved the model')
        return result

    async def load(self, who: str, file_name: str) -> ActionResult:
        """Replace the model by that of a file."""
        return await self._change(EventKind.LOAD, who, 'load_model', file_name=file_name,
                                  annotator=who)

    async def predict(self, stamp: int, region: Region = WHOLE) -> StampedPrediction | None:
        """Return the prediction of a held vector by the present model; None where it cannot."""
        vector = (self._view.vectors.find(stamp) if region.is_whole
                  else self._view.regions.vector(stamp, region))
        if vector is None:
            return None
        try:
            response = await self._caller.call(
                'predict', features=feature_vector_message(self._caller.messages, vector))
        except ClassifierUnavailableError:
            return None
        return stamped_prediction_of(response.prediction) if response.success else None

    async def draw(self, stamp: int, region: Region) -> None:
        """Have a box of a picture classified; one of no size only keeps the picture for later."""
        await self._caller.draw(stamp, region)

    async def control_source(self, command: str, position: int,
                             things: tuple[str, ...]) -> ActionResult:
        """Play, pause, step or move the source of the pictures, or put things before it."""
        response = await self._caller.control_source(
            command=command, position=min(position, _LARGEST), things=list(things))
        return ActionResult(response.success, response.message)

    # ----- looking through what was taught, and correcting it -----

    async def samples(self, query: SampleQuery) -> SampleList:
        """Return a page of the learnt samples."""
        response = await self._read(
            'list_samples', label=query.label, annotator=query.annotator or '',
            by_annotator=query.annotator is not None, order=int(query.order),
            offset=min(query.offset, _LARGEST), limit=query.limit,
            features=self._caller.messages.floats([] if query.near is None else query.near))
        return SampleList(response.total, list(map(taught_sample_of, response.samples)),
                          list(response.annotators))

    async def picture(self, number: int) -> bytes | None:
        """Return the picture of a sample as a JPEG; None where there is none."""
        response = await self._caller.call('get_sample', sample=number)
        if not response.success or response.format != 'jpeg':
            return None
        return bytes(response.picture)

    async def change_samples(self, who: str, numbers: list[int], labels: tuple[str, ...],
                             remove: bool) -> ActionResult:
        """Give samples other labels, or delete them."""
        # The security policy reserves changes of several samples to the owner.
        return await self._act('change_samples' if len(numbers) > 1 else 'change_sample',
                               samples=numbers, labels=list(labels), remove=remove,
                               annotator=who)

    async def merge_labels(self, who: str, label: str, into: str) -> ActionResult:
        """Make one label part of another."""
        return await self._act('merge_labels', label=label, into=into, annotator=who)

    async def turn(self, who: str, undo: bool, steps: list[int], mine: bool) -> ActionResult:
        """Undo steps, or make them again; only if these are the next ones."""
        return await self._act('undo_change' if undo else 'redo_change', steps=steps, mine=mine,
                               annotator=who)

    async def history(self, who: str, mine: bool, offset: int, limit: int) -> HistoryList:
        """Return a page of the history."""
        response = await self._read('list_history', mine=mine, annotator=who,
                                    offset=min(offset, _LARGEST), limit=limit)
        return HistoryList(response.total, *(
            [HistoryLine(step.number, _seconds(step.time), step.text,
                         step.annotator, step.sample, bool(step.undone), step.group)
             for step in steps]
            for steps in (response.steps, response.next_undo, response.next_redo)))

    async def models(self) -> list[FileLine]:
        """Return the files that can be loaded, the last changed first."""
        response = await self._read('list_models')
        return [FileLine(file.name, file.size, _seconds(file.time)) for file in response.files]

    # ----- calls -----

    async def _act(self, service: str, **fields: Any) -> ActionResult:
        response = await self._caller.call(service, **fields)
        return ActionResult(response.success, response.message)

    async def _read(self, service: str, **fields: Any) -> Any:
        response = await self._caller.call(service, **fields)
        if not response.success:
            raise OperatorRequestError(response.message)
        return response

    async def _change(self, kind: EventKind, who: str, service: str,
                      **fields: Any) -> ActionResult:
        """Call a service whose effect the classifier publishes to everybody."""
        self._view.expect(kind, who)
        done = False
        try:
            result = await self._act(service, **fields)
            done = result.done
        finally:
            if not done:
                self._view.expect(kind, '')
        return result


async def retire_sure(view: ClassifierView, actions: Actions) -> None:
    """Ask the model again about the oldest queries, and remove those that it is sure of now."""
    for query in list(view.queries)[:_ASKED_AGAIN]:
        now = await actions.predict(query.vector.stamp)
        if now is not None and is_settled(query, now, view.labels):
            view.settle(query.vector.stamp)


async def learn_truth(view: ClassifierView, actions: Actions) -> None:
    """Find out what the model would get right, and which samples it would take for others."""
    samples: list[TaughtSample] = []
    total = 1
    while len(samples) < min(total, MAX_JUDGED):
        page = await actions.samples(SampleQuery(
            order=SampleOrder.DOUBTFUL, offset=len(samples), limit=PAGE))
        samples += page.samples
        total = page.total if page.samples else 0
    view.on_truth(Truth.of_labels(view.labels, samples, await _bursts(actions)))


async def _bursts(actions: Actions) -> dict[int, str]:
    """Return by the number of a sample the burst that it is of, of the newest steps."""
    bursts: dict[int, str] = {}
    seen, total = 0, 1
    while seen < min(total, MAX_JUDGED):
        page = await actions.history('', False, seen, PAGE)
        bursts.update((step.number, step.group) for step in page.steps if step.group)
        seen += len(page.steps)
        total = page.total if page.steps else 0
    return bursts


def _seconds(time: Any) -> float:
    return float(time.sec) + 1e-9 * float(time.nanosec)


def history_words(steps: list[HistoryLine], mine: str = '') -> str:
    """Return steps in words, such as "taught 'cup' (Ada)"; empty without any.

    >>> history_words([HistoryLine(7, 0.0, "taught 'cup'", 'Ada')])
    "taught 'cup' (Ada)"
    """
    if not steps:
        return ''
    text = steps[0].text if len(steps) == 1 else f'{steps[0].text}, {len(steps)} times'
    return f'{text} ({steps[0].who})' if steps[0].who and steps[0].who != mine else text
