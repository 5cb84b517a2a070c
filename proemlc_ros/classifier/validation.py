# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What messages and requests may contain: the one entrance of all that peers send.

Requests of services pass `validate_request`. A vector is validated when it is classified, an
annotation in the transaction that writes and learns it; everything behind trusts them. The replay
of a bag applies the same rules.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proemlc_ros.core.labels import check_label
from proemlc_ros.errors import (
    LabelError,
    LabelRejectedError,
    ModelDirectoryError,
    RateExceededError,
    TextRejectedError,
    VectorRejectedError,
)
from proemlc_ros.foreign_text import LONGEST_LINE, shown
from proemlc_ros.records import Annotation, StampedVector, Vector
from proemlc_ros.regions import WHOLE, Region

# Characters.
LONGEST_EXTRACTOR = 200
LONGEST_ANNOTATOR = 100
LONGEST_REGION_ID = 200
LONGEST_TOPIC = 256
LONGEST_REQUEST_ID = 100
# Of texts that have no bound of their own.
LONGEST_TEXT = 255
# Numbers in one list of a request.
MOST_NUMBERS = 10_000
# What max_labels, max_label_length and max_width can be at most: no message has more.
MOST_NAMES = 100_000
LONGEST_NAME = 10_000
MOST_VALUES = 10_000_000
# Of model files; and bytes of their names.
MODEL_ENDING = '.npz'
LONGEST_FILE_NAME = 200
_LENGTHS = {'annotator': LONGEST_ANNOTATOR, 'request_id': LONGEST_REQUEST_ID}
_LABEL_FIELDS = {'label', 'new_label', 'into', 'labels', 'absent'}
_NAME_FIELDS = {*_LABEL_FIELDS, 'names', 'candidates'}


@dataclass(slots=True)
class Limits:
    """Bounds on what messages may bring; may be changed while running.

    Args:
        max_labels: labels that the model may know.
        max_label_length: characters of a label's name.
        max_width: values of a feature vector.
    """

    max_labels: int = 1000
    max_label_length: int = 100
    max_width: int = 100_000


def validate_vector(data: Vector, extractor: str, width: int | None, learnt_extractor: str,
                    limits: Limits, finite: bool = False) -> None:
    """Reject a feature vector that the model cannot take.

    Args:
        data: the values, shape (d,).
        extractor: what made the values; empty where not stated.
        width: the number of values that the model expects, None before it is fixed.
        learnt_extractor: what made the values that were learnt; empty where not known.
        limits: bounds.
        finite: whether the values are known to be finite.

    Raises:
        VectorRejectedError: empty, oversized, of another width, not finite, or made by another
            extractor.
    """
    size = data.size
    if size == 0:
        raise VectorRejectedError('empty_vector', 'the feature vector is empty')
    if size > limits.max_width:
        raise _oversized(size, limits)
    if extractor and learnt_extractor and extractor != learnt_extractor:
        raise VectorRejectedError(
            'extractor_changed', f'the features were made by {shown(extractor)}, the model has '
            f'learnt from {shown(learnt_extractor)}; use that extractor, or move to the new one '
            'with ~/reembed, which learns the kept samples again from their pictures')
    if width is not None and size != width:
        raise VectorRejectedError(
            'wrong_width', f'the feature vector has {size} values, the model was made for '
            f'{width}; publish {width} values, or load a model that was made for {size} (~/reset '
            'begins a new one; what was taught stays in before_reset.npz and in the journal)')
    if not finite and np.count_nonzero(np.isfinite(data)) < size:
        index = int(np.flatnonzero(~np.isfinite(data))[0])
        raise VectorRejectedError(
            'not_finite', f'value {index} of the feature vector is {data[index]}')


def validate_text(text: str, what: str, max_length: int) -> None:
    """Reject a text that does not belong into memory, log or journal; empty is allowed.

    Args:
        text: of a message.
        what: names the text in the error; the cause is 'bad_' and this.
        max_length: most characters.

    Raises:
        TextRejectedError: too long, or with characters that do not show.
    """
    if not text:
        return
    try:
        check_label(text, max_length, what)
    except LabelError as error:
        raise TextRejectedError(f'bad_{what}', str(error)) from error


def model_file_name(name: str) -> str:
    """Return the name of a model file, with its ending where that was left out.

    Raises:
        ModelDirectoryError: it has folders, is hidden, not printable or too long.
    """
    name = name if name.endswith(MODEL_ENDING) else name + MODEL_ENDING
    if ({'/', '\\'} & set(name) or name.startswith('.') or not name.isprintable()
            or len(name.encode('utf-8', 'replace')) > LONGEST_FILE_NAME):
        raise ModelDirectoryError(
            f'{name[:80]!r} is not a plain file name; give a name without folders, such as '
            "'kitchen.npz'")
    return name


def validate_request(request: Any, limits: Limits, known: Collection[str] = ()) -> None:
    """Reject a request with a field beyond its bounds; messages within it have their own checks.

    Args:
        request: of a service, as rclpy gives it.
        limits: bounds.
        known: labels of the model; those of older model files may break the rules.

    Raises:
        TextRejectedError: a text is too long or has characters that do not show.
        LabelRejectedError: there are too many labels.
        VectorRejectedError: a list of numbers is too long, or a number is not finite.
    """
    for name, kind in request.get_fields_and_field_types().items():
        value = getattr(request, name)
        if kind in ('float', 'double') and not math.isfinite(value):
            raise VectorRejectedError('not_finite', f'{name} is {value}; it must be finite')
        if kind.startswith('sequence<') and 'string' not in kind and len(value) > MOST_NUMBERS:
            raise VectorRejectedError(
                f'too_many_{name}', f'{name} has {len(value)} numbers, more than {MOST_NUMBERS}; '
                'send several requests')
        if 'string' not in kind:
            continue
        texts = [value] if isinstance(value, str) else value
        if len(texts) > max(limits.max_labels, len(known)):
            raise _too_many_names(len(texts), limits)
        for text in texts:
            if name not in _LABEL_FIELDS:
                validate_text(text, name, _LENGTHS.get(name, LONGEST_TEXT))
            elif text and text not in known:
                validate_text(text, 'label', limits.max_label_length)


def validate_message(message: Any) -> None:
    """Reject a message of a classifier that is beyond all bounds; for those who show it.

    Numbers that are not finite pass: whoever shows them says that they are missing. So do names
    of labels with hidden characters, since models of earlier versions may have them.

    Args:
        message: of this package, as rclpy gives it.

    Raises:
        TextRejectedError: a text is too long or has characters that do not show.
        VectorRejectedError: a list is too long.
    """
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        most = MOST_NAMES if 'string' in kind else MOST_VALUES
        if kind.startswith('sequence<') and len(value) > most:
            raise VectorRejectedError(
                f'too_many_{name}', f'{name} has {len(value)} elements, more than {most}')
        if 'string' in kind:
            for text in [value] if isinstance(value, str) else value:
                if name not in _NAME_FIELDS:
                    validate_text(text, name, LONGEST_LINE if name == 'text' else LONGEST_TEXT)
                elif len(text) > LONGEST_NAME:
                    raise TextRejectedError(
                        'bad_label', f'{name} has {shown(text)} of {len(text)} characters, more '
                        f'than {LONGEST_NAME}')
        elif '/' in kind:
            for inner in value if kind.startswith('sequence<') else (value,):
                validate_message(inner)


def validate_region(region: Region) -> None:
    """Reject a region that is no box of a picture.

    Raises:
        TextRejectedError: its id is too long or has characters that do not show.
        VectorRejectedError: its centre or size is not finite, or its size below 0.
    """
    if not (math.isfinite(sum(region.box)) and region.size_x >= 0.0 and region.size_y >= 0.0):
        raise VectorRejectedError(
            'bad_region', f'centre and size of the region are {shown(str(region.box))}; they must '
            'be finite, the size not below 0')
    if region.id:
        try:
            validate_text(region.id, 'region', LONGEST_REGION_ID)
        except TextRejectedError as error:
            raise TextRejectedError('bad_region', f'the id of the region: {error}') from error


def validate_sizes(annotation: Annotation, known: Callable[[], Collection[str]],
                   limits: Limits) -> None:
    """Reject an annotation too large to be held; the rest is validated before it is learnt.

    Args:
        annotation: as it came.
        known: returns the labels that the model knows; asked only where it matters.
        limits: bounds.

    Raises:
        TextRejectedError: the annotator's name, or the id of its region, is too long or has
            characters that do not show.
        VectorRejectedError: its features are more than any vector may have, or its region is no
            box.
        LabelRejectedError: a new name is too long, or there are too many names.
    """
    if annotation.region != WHOLE:
        validate_region(annotation.region)
    if annotation.annotator:
        validate_text(annotation.annotator, 'annotator', LONGEST_ANNOTATOR)
    if annotation.features is not None and annotation.features.size > limits.max_width:
        raise _oversized(annotation.features.size, limits)
    names = {*annotation.labels, *annotation.absent}
    if len(names) > limits.max_labels and len(names) > len(known()):
        raise _too_many_names(len(names), limits)
    long = {name for name in names if len(name) > limits.max_label_length}
    if long:  # Names of older model files may be.
        validate_names(sorted(long.difference(known())), limits)


@dataclass(slots=True)
class ExpectedInput:
    """What the model expects of its input, kept up to date while annotations are accepted.

    Args:
        width: values of a vector; None before the first.
        extractor: what made the vectors that were learnt; empty where not known.
        known: labels that the model knows.
        limits: bounds.
        version: of the label set.
    """

    width: int | None = None
    extractor: str = ''
    known: dict[str, None] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    version: int = 0
    # Values that were found to be finite: the next annotation is often about the last vector.
    _finite: Vector | None = None

    def accept_vector(self, vector: StampedVector) -> None:
        """Validate a vector; the first one fixes the width.

        Raises:
            VectorRejectedError: the model cannot take it.
        """
        validate_vector(vector.data, vector.extractor, self.width, self.extractor, self.limits)
        self.width, self._finite = vector.data.size, vector.data

    def accept_annotation(self, annotation: Annotation) -> Annotation:
        """Validate an annotation that has its features.

        Returns:
            The annotation with its label names in their normal form, and with the answer where
            its client may repeat the request.

        Raises:
            LabelRejectedError: a bad name, a name both present and absent, or too many labels.
            VectorRejectedError: the model cannot take its features.
        """
        # Known names were validated when they came.
        nothing_new = not annotation.absent and self.known.keys() >= {*annotation.labels}
        valid = annotation if nothing_new else self._with_valid_names(annotation)
        features = annotation.matched_features
        validate_vector(features, annotation.extractor, self.width, self.extractor, self.limits,
                        features is self._finite)
        annotation, introduced = valid, () if nothing_new else self._introduce(valid)
        self.version += bool(introduced)
        if annotation.request is not None:
            annotation = annotation._replace(request=annotation.request.answered(
                annotation.labels, introduced, self.version))
        self.width = features.size
        self.extractor = self.extractor or annotation.extractor
        return annotation

    def accept_names(self, annotation: Annotation) -> Annotation:
        """Return an annotation with its label names in their normal form; see above."""
        if annotation.absent or not self.known.keys() >= {*annotation.labels}:
            annotation = self._with_valid_names(annotation)
            self._introduce(annotation)
        return annotation

    def _introduce(self, annotation: Annotation) -> tuple[str, ...]:
        """Take note of new names and return them."""
        new = tuple(name for name in dict.fromkeys(annotation.named) if name not in self.known)
        self.known.update(dict.fromkeys(new))
        return new

    def _with_valid_names(self, annotation: Annotation) -> Annotation:
        allowed = self.limits.max_labels
        if (named := len({*annotation.labels, *annotation.absent})) > allowed:
            raise _too_many_names(named, self.limits)
        annotation = annotation._replace(
            labels=validate_names(annotation.labels, self.limits),
            absent=validate_names(annotation.absent, self.limits))
        if both := set(annotation.labels).intersection(annotation.absent):
            raise LabelRejectedError(
                'contradiction', f'label {shown(min(both))} is given as present and as absent')
        new = len(set(annotation.named).difference(self.known))
        if new and len(self.known) + new > allowed:
            raise LabelRejectedError(
                'too_many_labels', f'{new} new labels beside the {len(self.known)} known ones are '
                f'more than max_labels = {allowed} allows; remove labels or raise it')
        return annotation


def validate_names(names: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """Return label names in their normal form, without repetition.

    Raises:
        LabelRejectedError: a name is not usable; core.labels has the rule.
    """
    try:
        return distinct([check_label(name, limits.max_label_length) for name in names])
    except LabelError as error:
        raise LabelRejectedError('bad_label', str(error)) from error


def _oversized(size: int, limits: Limits) -> VectorRejectedError:
    return VectorRejectedError(
        'oversized_vector', f'the feature vector has {size} values, more than the '
        f'{limits.max_width} that max_width allows')


def _too_many_names(count: int, limits: Limits) -> LabelRejectedError:
    return LabelRejectedError(
        'too_many_labels', f'the annotation names {count} labels, more than the '
        f'{limits.max_labels} that max_labels allows')


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without repetition, in their order."""
    return tuple(dict.fromkeys(names))


class RateLimit:
    """Lets a number of messages per second pass, with a burst of one second's worth.

    Args:
        rate: messages per second; 0 lets everything pass. May be changed while running.
        what: names the messages in the error.
    """

    def __init__(self, rate: float, what: str) -> None:
        self.rate = rate
        self._what = what
        self._tokens = float('inf')  # Full, whatever rate is set before the first message.
        self._last: int | None = None
        self._lock = threading.Lock()

    def check(self, now: int) -> None:
        """Count a message.

        Args:
            now: nanoseconds on any clock.

        Raises:
            RateExceededError: there were too many within the last second.
        """
        if not self.rate:
            return
        with self._lock:
            burst = max(self.rate, 1.0)
            elapsed = 0.0 if self._last is None else max(now - self._last, 0) * 1e-9
            self._last = now
            self._tokens = min(self._tokens + elapsed * self.rate, burst)
            if self._tokens >= 1.0:
                self._tokens -= 1.0
                return
        raise RateExceededError(
            'rate', f'more than {self.rate:g} {self._what} per second; the rest is dropped')
