# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Samples with their annotations, as users give them, validated."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from proemlc_ros.core.labels import check_labels
from proemlc_ros.core.rows import Rows, check_rows, is_single
from proemlc_ros.errors import LabelError, LengthMismatchError


class SampleLabels(NamedTuple):
    """The annotation of one sample: labels present, labels absent, and the rest."""

    present: tuple[str, ...]
    absent: tuple[str, ...] = ()
    complete: bool = True

    @property
    def named(self) -> tuple[str, ...]:
        """The labels that must be known to learn this; "absent" adds nothing where complete."""
        return self.present if self.complete else self.present + self.absent


def check_samples(X: object, labels: object, absent: object, complete: object, width: int | None,
                  dtype: str, known: Collection[str]) -> tuple[Rows, list[SampleLabels]]:
    """Return rows and one annotation per row, all validated.

    Args:
        X: one sample (width,), or rows (n, width).
        labels: the names present in the sample; for rows one collection per row.
        absent: the names absent from it, likewise, or None.
        complete: whether labels not listed are absent; one value, or one per row.
        width: the length that a sample must have; None: any.
        dtype: of the returned rows.
        known: labels that need no check.

    Raises:
        InputError: when X cannot be used, or there is not one annotation per row.
        LabelError: when the labels cannot be used.
    """
    rows = check_rows(X, width, dtype)
    if is_single(X):
        return rows, [check_annotation(labels, absent, complete, known)]
    return rows, check_annotations(rows.shape[0], labels, absent, complete, known)


def check_annotation(labels: object, absent: object = None, complete: object = True,
                     known: Collection[str] = ()) -> SampleLabels:
    """Return the annotation of one sample, validated; known: labels that need no check.

    SampleLabels are taken as they are: they were accepted before, maybe by an earlier rule.

    Raises:
        LabelError: when the labels cannot be used or contradict each other.
    """
    if isinstance(labels, SampleLabels):
        return labels
    present = check_labels(labels, 'labels', known)
    if complete is not True and complete is not False:
        raise LabelError(f'complete is {complete!r}; give True or False')
    if absent is None:
        return SampleLabels(present, (), complete)
    missing = check_labels(absent, 'absent', known)
    if both := set(present) & set(missing):
        raise LabelError(f'{sorted(both)} are given as present and absent; give each once')
    return SampleLabels(present, missing, complete)


def check_annotations(count: int, labels: object, absent: object = None,
                      complete: object = True, known: Collection[str] = ()) -> list[SampleLabels]:
    """Return one validated annotation for each of count samples.

    Args:
        count: number of samples.
        labels: one collection of present names per sample.
        absent: one collection of absent names per sample, or None.
        complete: whether labels not listed are absent; one value, or one per sample.
        known: labels that need no check.

    Raises:
        LabelError: when labels cannot be used.
        LengthMismatchError: when there is not one collection per sample.
    """
    listed = _one_each(count, labels, 'labels')
    if absent is None and isinstance(complete, bool):
        return _check_alike(listed, complete, known)
    unlisted = [None] * count if absent is None else _one_each(count, absent, 'absent')
    rules = ([complete] * count if isinstance(complete, bool)
             else _one_each(count, complete, 'complete'))
    rules = [bool(rule) if hasattr(rule, 'dtype') else rule for rule in rules]
    return [check_cached(*given, known) for given in zip(listed, unlisted, rules)]


def _check_alike(listed: list[object], complete: bool,
                 known: Collection[str]) -> list[SampleLabels]:
    """Return annotations that name present labels only; equal ones are checked once."""
    checked: dict[object, SampleLabels] = {}
    annotations = []
    for labels in listed:
        key: tuple[object, ...] | None = None
        if type(labels) is tuple or type(labels) is list:
            key = tuple(labels)
        try:
            annotation = checked.get(key)
        except TypeError:  # something in it that is no label, which is explained below
            key = annotation = None
        if annotation is None:
            annotation = check_cached(labels if key is None else key, None, complete, known)
            if key is not None:
                checked[key] = annotation
        annotations.append(annotation)
    return annotations


# In a stream many annotations are equal. "typed", since 1 equals True but is not a truth value.
_cached_annotation = lru_cache(maxsize=4096, typed=True)(check_annotation)


def check_cached(labels: object, absent: object, complete: object,
                 known: Collection[str]) -> SampleLabels:
    """Return an annotation, from the cache where it does not depend on the known labels."""
    if type(labels) is tuple and absent is None:
        try:
            annotation = _cached_annotation(labels, absent, complete)
            if annotation.present == labels:
                return annotation
        except (TypeError, LabelError):
            pass  # A known name of an older model, or an error to be explained.
    return check_annotation(labels, absent, complete, known)


def _one_each(count: int, values: object, what: str) -> list[object]:
    if isinstance(values, (str, bytes, set, frozenset, dict)):
        raise LabelError(f'{what} is {values!r}; give a list with one entry per sample')
    try:
        listed: list[object] = list(values)  # type: ignore[call-overload]
    except TypeError as error:
        raise LabelError(f'{what} is {values!r}; give a list with one entry per sample') from error
    if len(listed) != count:
        raise LengthMismatchError(
            f'{what} has {len(listed)} entries for {count} samples; give one entry per sample')
    return listed
