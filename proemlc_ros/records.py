# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What passes between nodes, journal, bags and operators, as plain objects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from proemlc_ros.foreign_text import shown, shown_names
from proemlc_ros.regions import WHOLE as WHOLE
from proemlc_ros.regions import Region as Region

Vector = NDArray[np.float32]
Kind = TypeVar('Kind')
_NONE: NDArray[np.float32] = np.empty(0, np.float32)
# How the journal's references to requests of clients begin.
REQUEST_PREFIX = 'request:'


def _by_identity(kind: type[Kind]) -> type[Kind]:
    """Make each tuple equal to itself only; the arrays in them do not compare as a whole."""
    for name in ('__eq__', '__ne__', '__hash__'):
        setattr(kind, name, getattr(object, name))
    return kind


class Picture(NamedTuple):
    """A compressed picture of what a feature vector was made from.

    Args:
        stamp: nanoseconds, of the picture it was made from.
        format: as in CompressedImage.
        data: the compressed bytes.
    """

    stamp: int
    format: str
    data: bytes


# Named tuples: frozen dataclasses take four times as long to make, and bags have millions. Their
# classes take eight times as long, which a node waits for when it starts.
@_by_identity
class StampedVector(NamedTuple):
    """A feature vector and when it was sensed.

    Args:
        stamp: nanoseconds; 0 where the source gives no time.
        data: the values, shape (d,).
        extractor: what made the values, empty where not stated.
        source_topic: topic of the sensor message, empty where not stated.
        region: part of the picture.
        region_count: vectors of the same picture, 0 where this one is of the whole picture.
    """

    stamp: int
    data: Vector
    extractor: str = ''
    source_topic: str = ''
    region: Region = WHOLE
    region_count: int = 0


class ClientRequest(NamedTuple):
    """A request that may be repeated, and its answer once it has one.

    Args:
        id: chosen by the client.
        content: digest of the annotation as it came.
        message: of the answer.
        version: of the label set, in the answer.
        number: of the journal entry, once there is one.
    """

    id: str
    content: str
    message: str = ''
    version: int = 0
    number: int = 0

    @classmethod
    def of(cls, request_id: str, annotation: Annotation) -> ClientRequest:
        """Return the request with this annotation."""
        features = annotation.features
        digest = blake2b(digest_size=16)
        digest.update(json.dumps([
            annotation.stamp, annotation.labels, annotation.absent, annotation.complete,
            annotation.extractor, annotation.annotator,
            *([annotation.region] if annotation.region.size_x else [])]).encode())
        digest.update(b'' if features is None else features.tobytes())
        return cls(request_id, digest.hexdigest())

    def answered(self, labels: tuple[str, ...], introduced: tuple[str, ...],
                 version: int) -> ClientRequest:
        """Return the request with the answer that these labels were learnt."""
        return self._replace(message=learnt_text(labels, introduced), version=version)

    @property
    def reference(self) -> str:
        """What the journal keeps beside the annotation."""
        fields = self._asdict()
        del fields['number']  # The entry has it.
        return REQUEST_PREFIX + json.dumps(fields)

    @classmethod
    def from_reference(cls, reference: str) -> ClientRequest | None:
        """Return the request of a reference; None where it is none of this version."""
        try:
            fields = json.loads(reference.removeprefix(REQUEST_PREFIX))
            return cls(str(fields['id']), str(fields['content']), str(fields['message']),
                       int(fields['version']))
        except (ValueError, TypeError, KeyError):
            return None


def learnt_text(labels: tuple[str, ...], introduced: tuple[str, ...]) -> str:
    """Return the answer to an annotation that was learnt."""
    text = f'learnt {shown_names(labels) or "an annotation without labels"}'
    return f'{text}; new: {shown_names(introduced)}' if introduced else text


@_by_identity
class Annotation(NamedTuple):
    """The labels that an operator gives to one feature vector.

    Args:
        stamp: nanoseconds of the vector meant; 0 means the newest one.
        labels: names that are present.
        absent: names that are absent; matters where `complete` is false.
        complete: whether every name that is not listed is absent.
        features: the values themselves, or None to look them up by stamp.
        extractor: what made the features.
        annotator: who annotates.
        region: of the vector meant.
        request: of the client, where it may be repeated.
        entry: number of the journal entry, in records of what was learnt; 0 where not known.
    """

    stamp: int
    labels: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True
    features: Vector | None = None
    extractor: str = ''
    annotator: str = ''
    region: Region = WHOLE
    request: ClientRequest | None = None
    entry: int = 0

    @property
    def matched_features(self) -> Vector:
        """The features of an annotation that has found its vector."""
        if self.features is None:
            raise ValueError('the annotation has no features yet')
        return self.features

    @property
    def named(self) -> tuple[str, ...]:
        """The names that become labels: absent ones too, where not all labels are stated."""
        return self.labels if self.complete else self.labels + self.absent

    @property
    def said(self) -> str:
        """The labels for people, such as "'cup', not 'bowl'"."""
        return _said(self.labels, self.absent, self.complete)

    @property
    def text(self) -> str:
        """What the annotation did, for people."""
        return f'taught {self.said}'

    def about(self, vector: StampedVector) -> Annotation:
        """Return the same annotation with the stamp, values, extractor and region of a vector."""
        return Annotation(vector.stamp, self.labels, self.absent, self.complete, vector.data,
                          vector.extractor, self.annotator, vector.region, self.request,
                          self.entry)

    def bare(self) -> Annotation:
        """Return the same annotation without the values."""
        return self._replace(features=None)

    def renamed(self, old: str, new: str) -> Annotation:
        """Return the same annotation after a label got another name; every name stands once."""
        labels = dict.fromkeys(new if name == old else name for name in self.labels)
        absent = dict.fromkeys(new if name == old else name for name in self.absent)
        return self._replace(labels=tuple(labels), absent=tuple(
            name for name in absent if name not in labels))

    def merged(self, label: str, into: str) -> Annotation:
        """Return the same annotation after a label became part of another.

        That one is present where one of the two is, and absent where both are.
        """
        rest = self.renamed(label, into)
        if into in rest.labels or {label, into} <= {*self.absent}:
            return rest
        return rest._replace(absent=tuple(name for name in rest.absent if name != into))

    def without(self, names: Iterable[str]) -> Annotation:
        """Return the same annotation without some labels."""
        gone = set(names)
        return self._replace(labels=tuple(name for name in self.labels if name not in gone),
                             absent=tuple(name for name in self.absent if name not in gone))

    def changed_by(self, event: Event) -> Annotation:
        """Return the same annotation relabelled, or after a label was renamed, removed, merged."""
        if event.kind is EventKind.RELABEL:
            return self._replace(labels=event.labels, absent=event.absent, complete=event.complete)
        merges = event.kind is EventKind.MERGE_LABELS
        if event.label not in self.labels and event.label not in self.absent and not (
                merges and event.new_label in self.absent):
            return self
        if event.kind is EventKind.REMOVE:
            return self.without([event.label])
        return (self.merged if merges else self.renamed)(event.label, event.new_label)

    @property
    def meaning(self) -> tuple[frozenset[str], frozenset[str], bool]:
        """What it says about labels, in a form that compares."""
        absent = frozenset[str]() if self.complete else frozenset(self.absent)
        return frozenset(self.labels), absent, self.complete


@_by_identity
class Learnt(NamedTuple):
    """The result of an annotation that was learnt.

    Args:
        annotation: as it was learnt, with its features.
        number: of the journal entry.
        introduced: labels that are new.
        version: of the label set afterwards.
    """

    annotation: Annotation
    number: int
    introduced: tuple[str, ...]
    version: int

    @property
    def message(self) -> str:
        """The answer to the client."""
        request = self.annotation.request  # Has the answer that the journal has.
        return request.message if request else learnt_text(self.annotation.labels, self.introduced)


class EventKind(IntEnum):
    """What happened; the values are those of ModelEvent."""

    UNDO = 1
    RENAME = 2
    REMOVE = 3
    RESET = 4
    LOAD = 5
    RENEW = 6
    RELABEL = 7
    DELETE = 8
    MERGE_LABELS = 9
    REDO = 10


class Event(NamedTuple):
    """A change of the model that is journalled so that a replay repeats it.

    Args:
        kind: what happened.
        stamp: nanoseconds; when it happened.
        label: the label concerned, empty where the kind uses none.
        new_label: the label's new name, for RENAME; the label that stays, for MERGE_LABELS.
        file_name: the model file, for LOAD.
        sample: number of the journal entry that it refers to; 0 for none.
        labels: names that are present, for RELABEL.
        absent: names that are absent, for RELABEL.
        complete: whether every name that is not listed is absent, for RELABEL.
        annotator: who made the change.
        entry: number of the journal entry of the event itself; 0 where not known.
    """

    kind: EventKind
    stamp: int = 0
    label: str = ''
    new_label: str = ''
    file_name: str = ''
    sample: int = 0
    labels: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    complete: bool = True
    annotator: str = ''
    entry: int = 0

    @property
    def text(self) -> str:
        """What the event did, for people.

        >>> Event(EventKind.RENAME, label='cups', new_label='cup').text
        "renamed 'cups' to 'cup'"
        """
        label, new_label = shown(self.label), shown(self.new_label)
        return {
            EventKind.UNDO: f'took back entry {self.sample}' if self.sample else (
                'took back the last annotation'),
            EventKind.RENAME: f'renamed {label} to {new_label}',
            EventKind.REMOVE: f'removed {label}',
            EventKind.RESET: 'reset the model',
            EventKind.LOAD: f'loaded {self.file_name or "the snapshot"}',
            EventKind.RENEW: 'renewed the model',
            EventKind.RELABEL: f'relabelled sample {self.sample} as '
                               f'{_said(self.labels, self.absent, self.complete)}',
            EventKind.DELETE: f'deleted sample {self.sample}',
            EventKind.MERGE_LABELS: f'merged {label} into {new_label}',
            EventKind.REDO: f'made entry {self.sample} again',
        }[self.kind]


def _said(labels: tuple[str, ...], absent: tuple[str, ...], complete: bool) -> str:
    parts = [shown_names(labels)] if labels else []
    if absent:
        parts.append('not ' + shown_names(absent))
    return ', '.join(parts) or ('none of the labels' if complete else 'nothing')


class SampleOrder(IntEnum):
    """Order of a list of samples; the values are those of ListSamples."""

    NEWEST = 0
    OLDEST = 1
    DOUBTFUL = 2
    NEAREST = 3


class SampleQuery(NamedTuple):
    """Which samples to list.

    Args:
        label: that they show; empty: any.
        annotator: who taught them; None: anybody.
        order: of the list.
        offset: samples to skip.
        limit: samples to return at most.
        near: feature vector that they are compared with, for NEAREST.
    """

    label: str = ''
    annotator: str | None = None
    order: SampleOrder = SampleOrder.NEWEST
    offset: int = 0
    limit: int = 100
    near: Vector | None = None


class TaughtSample(NamedTuple):
    """A learnt sample as people see it; LearntSample.msg has the same fields.

    Args:
        number: of its journal entry.
        taught: nanoseconds since 1970.
        annotation: as it is now, without features.
        has_picture: whether the journal has a picture of it.
        doubt: largest distance of a left-out score to its threshold, on the wrong side; NaN where
            not known.
        doubtful: the label that contradicts most; empty where none does.
        expected: labels that would be predicted had the sample not been learnt.
    """

    number: int
    taught: int
    annotation: Annotation
    has_picture: bool = False
    doubt: float = math.nan
    doubtful: str = ''
    expected: tuple[str, ...] = ()


class Correction(NamedTuple):
    """New labels of a learnt sample.

    Args:
        number: of the sample's journal entry.
        labels: names that are present.
        absent: names that are absent.
        complete: whether every name that is not listed is absent.
        delete: whether the sample goes, and the labels do not matter.
    """

    number: int
    labels: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    complete: bool = True
    delete: bool = False


@_by_identity
class StampedPrediction(NamedTuple):
    """What the classifier published about one feature vector.

    Args:
        stamp: nanoseconds, of the feature vector.
        predicted: names of the predicted labels, best first.
        scores: one per label, in the order of the label set of that version.
        novelty: 0 (well known) to 1 (nothing like it).
        version: of the label set.
        probabilities: one per label, in the same order; empty where not known.
        by_probability: whether the labels were chosen by probability, not by score.
        threshold: what the score or probability of each predicted label is above.
        region: of the feature vector.
        region_count: as in StampedVector.
        source_topic: as in StampedVector.
        unknown: whether the vector was too novel for any label.
        position: of what the region shows, metres in the frame of the camera; None: not known.
    """

    stamp: int
    predicted: tuple[str, ...]
    scores: NDArray[np.float32]
    novelty: float
    version: int
    probabilities: NDArray[np.float32] = _NONE
    by_probability: bool = False
    threshold: float = 0.0
    region: Region = WHOLE
    region_count: int = 0
    source_topic: str = ''
    unknown: bool = False
    position: tuple[float, float, float] | None = None


class LabelState(NamedTuple):
    """The label set of one instant: names, samples per label, thresholds, decision rule."""

    names: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    thresholds: tuple[float, ...] = ()
    samples: int = 0
    version: int = 0
    at_least: int = 0
    decision: str = ''
    # Samples left out of the model in turn, the share that would be right, and both by label.
    judged: int = 0
    right: float = 0.0
    judged_counts: tuple[int, ...] = ()
    recalls: tuple[float, ...] = ()


class QueryReason(IntEnum):
    """Why a label is asked for; the values are those of LabelQuery."""

    NOVEL = 1
    DOUBTFUL = 2


@_by_identity
class Query(NamedTuple):
    """The classifier asks the operator for the labels of one feature vector.

    Args:
        vector: the feature vector.
        text: the reason, for people.
        candidates: the likeliest labels, best first.
        scores: of the candidates.
        novelty: of the vector.
        reason: the reason, for programs.
        label: the label in doubt, empty where the vector is novel.
        probabilities: of the candidates; empty where not known.
        asked_at: when it was asked, in seconds since 1970; 0: not known.
    """

    vector: StampedVector
    text: str
    candidates: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    novelty: float = 0.0
    reason: QueryReason = QueryReason.DOUBTFUL
    label: str = ''
    probabilities: tuple[float, ...] = ()
    asked_at: float = 0.0

    def prediction(self) -> StampedPrediction:
        """Return the vector asked about as something to annotate; its scores are not known."""
        return StampedPrediction(self.vector.stamp, (), np.empty(0, np.float32), self.novelty,
                                 version=-1, region=self.vector.region,
                                 source_topic=self.vector.source_topic)


class ModelChange(NamedTuple):
    """The result of a change that is not an annotation.

    Args:
        message: what was done, for people.
        events: what to publish; none where the model is as before.
        samples: learnt again with other features.
        left_out: samples that could not be.
    """

    message: str
    events: Sequence[Event] = ()
    samples: int = 0
    left_out: int = 0
