# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Label names and annotations: the one rule for them, their columns and their counts."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.rows import Rows, check_rows, is_single
from proemlc_ros.errors import LabelError, LabelExistsError, LengthMismatchError, UnknownLabelError

# Control, format, surrogate, private-use, unassigned, line and paragraph separator.
_HIDDEN_CATEGORIES = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'})
# Letters, marks and symbols that show nothing: fillers of several scripts, the empty Braille
# pattern, the combining grapheme joiner, inherent vowels, an empty note head.
_BLANKS = frozenset('\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159\U00013441'
                    '\U00013442\U00016fe4')
# Of category Cf, yet they spell words in several scripts, and emoji.
_JOINERS = frozenset('\u200c\u200d')
# Choose the form of the character before them, as in most emoji.
_VARIATIONS = frozenset(map(chr, (0x180b, 0x180c, 0x180d, 0x180f, *range(0xfe00, 0xfe10),
                                  *range(0xe0100, 0xe01f0))))
# A character of normal form C decomposes into at most this many.
_LONGEST_DECOMPOSITION = 4


def check_label(name: object, max_length: int | None = None, what: str = 'label') -> str:
    """Return a label name in Unicode normal form C; two ways to spell é are one label.

    Args:
        name: text without leading or trailing white space and without characters that do not show:
            control, format and blank characters. Joiners (U+200C, U+200D) may stand between
            visible characters, variation selectors behind one.
        max_length: most characters that the name may have; None: any number.
        what: names the text in errors.

    Raises:
        LabelError: when the name breaks a rule; says which, and what to do.
    """
    if not isinstance(name, str):
        raise LabelError(f'the {what} {name!r} is not text; give {what} names as text')
    if max_length is not None and len(name) > _LONGEST_DECOMPOSITION * max_length:
        raise _too_long(name, max_length, what)
    plain = name.isascii()
    text = str(name if plain else unicodedata.normalize('NFC', name))
    if not text or text.isspace():
        raise LabelError(f'the {what} is {_short(name)}; '
                         'give a name with at least one visible character')
    if text[0].isspace() or text[-1].isspace():
        raise LabelError(f'the {what} {_short(name)} begins or ends with white space; '
                         'leave it out')
    if max_length is not None and len(text) > max_length:
        raise _too_long(text, max_length, what)
    if not (plain and text.isprintable()):
        _check_characters(text, what)
    return text


def _check_characters(name: str, what: str) -> None:
    kinds = [_kind(character) for character in name]
    for character, before, kind, after in zip(name, ['space', *kinds], kinds,
                                              [*kinds[1:], 'space']):
        if (kind == 'hidden' or kind == 'variation' and before != 'visible'
                or kind == 'joiner' and (before not in ('visible', 'variation')
                                         or after != 'visible')):
            raise LabelError(f'the {what} {_short(name)} has the control or invisible character '
                             f'U+{ord(character):04X}; leave it out')


def is_hidden(character: str) -> bool:
    """Return whether a character shows nothing and is no part of words or emoji either."""
    return _kind(character) == 'hidden'


def _kind(character: str) -> str:
    if character in _JOINERS:
        return 'joiner'
    if character in _VARIATIONS:
        return 'variation'
    if character in _BLANKS or unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return 'hidden'
    return 'space' if character.isspace() else 'visible'


def _too_long(name: str, max_length: int, what: str) -> LabelError:
    return LabelError(f'the {what} {_short(name)} has {len(name)} characters; '
                      f'give a name of at most {max_length}')


def _short(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:40] + '…')


def check_labels(names: object, what: str = 'labels',
                 known: Collection[str] = ()) -> tuple[str, ...]:
    """Return a collection of label names as a tuple without repetitions.

    A set is sorted, since its own order differs from run to run.

    Args:
        names: the collection.
        what: names the collection in errors.
        known: names that are taken as they are; those of older model files may break the rule.

    Raises:
        LabelError: when it is not a collection of usable names.
    """
    if isinstance(names, (str, bytes)):
        raise LabelError(f'{what} is the single text {names!r}; '
                         f'give a collection of names, such as [{names!r}]')
    try:
        checked = [name if type(name) is str and name in known else _check_in(name, what)
                   for name in names]  # type: ignore[attr-defined]
    except TypeError as error:
        raise LabelError(f'{what} is {names!r}; give a collection of names') from error
    if isinstance(names, (set, frozenset)):
        checked.sort()
    return tuple(checked if len(checked) < 2 else dict.fromkeys(checked))


def _check_in(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise LabelError(f'{what} holds {name!r}, which is not text; give names as text')
    return check_label(name)


def indicators(named: Sequence[Collection[str]], columns: Mapping[str, int],
               width: int) -> npt.NDArray[np.bool_]:
    """Return which columns are named for which row, (n, width)."""
    cells = np.zeros((len(named), width), dtype=bool)
    rows = np.repeat(np.arange(len(named)), list(map(len, named)))
    places = map(columns.__getitem__, chain.from_iterable(named))
    cells[rows, np.fromiter(places, np.intp, len(rows))] = True
    return cells


def handicap_of(name: str, count: int) -> float:
    """Return what is added to the scores of a label before it is chosen; see LabelColumns."""
    return _tie_break(name) if count else -np.inf


@lru_cache(maxsize=65536)
def _tie_break(name: str) -> float:
    return -1e-9 * zlib.crc32(name.encode()) / 2.0 ** 32


class LabelColumns:
    """Names in column order, and how many learnt samples showed each.

    Column 0 of the weights belongs to the label that nobody has named yet; names start at 1.
    """

    def __init__(self, names: Iterable[str] = (), counts: Iterable[int] | None = None) -> None:
        """Start with these names, none of them learnt unless counts say so."""
        self.names = list(names)
        self.counts = list(counts) if counts is not None else [0] * len(self.names)
        self.columns = {name: column for column, name in enumerate(self.names, start=1)}
        # Added to scores before labels are chosen: -inf for labels that no sample has shown; next
        # to nothing for the others, so that equal scores rank the same in every column order.
        self.handicap: Array = np.array(list(map(handicap_of, self.names, self.counts)))

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.names)

    def column(self, name: str) -> int:
        """Return the column of a name.

        Raises:
            UnknownLabelError: when there is no such label.
        """
        return self.columns[self.find(name)]

    def find(self, name: str) -> str:
        """Return a known name as it is known; the one given may be of another normal form.

        Raises:
            UnknownLabelError: when there is no such label.
        """
        if isinstance(name, str):
            for form in (name, unicodedata.normalize('NFC', name)):
                if form in self.columns:
                    return form
        known = ', '.join(map(repr, self.names[:20])) or 'none yet'
        raise UnknownLabelError(f'there is no label {name!r}; known labels: {known}')

    def add(self, *names: str) -> None:
        """Append names."""
        for name in names:
            self.names.append(name)
            self.counts.append(0)
            self.columns[name] = len(self.names)
        handicap: Array = np.full(len(self.names), -np.inf)
        handicap[:len(self.handicap)] = self.handicap
        self.handicap = handicap

    def count(self, name: str, step: int) -> None:
        """Count one more sample that shows a label; step -1: one less."""
        place = self.columns[name] - 1
        before = self.counts[place]
        self.counts[place] = before + step
        if not (before and before + step):
            self.handicap[place] = handicap_of(name, before + step)

    def rename(self, name: str, new_name: str) -> None:
        """Give a label another name; its column stays."""
        column = self.column(name)
        if new_name in self.columns and new_name != name:
            raise LabelExistsError(f'there is a label {new_name!r} already; '
                                   f'choose another name for {name!r}, or remove one of them')
        self.names[column - 1] = new_name
        del self.columns[name]
        self.columns[new_name] = column
        self.handicap[column - 1] = handicap_of(new_name, self.counts[column - 1])

    def remove(self, name: str) -> int:
        """Remove a label; later columns move up by one. Returns the column it had."""
        column = self.column(name)
        del self.names[column - 1], self.counts[column - 1]
        self.columns = {other: place for place, other in enumerate(self.names, start=1)}
        self.handicap = np.delete(self.handicap, column - 1)
        return column

    def copy(self) -> LabelColumns:
        """Return an independent copy."""
        return LabelColumns(self.names, self.counts)


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
        return rows, [_check_annotation(labels, absent, complete, known)]
    return rows, _check_annotations(rows.shape[0], labels, absent, complete, known)


def _check_annotation(labels: object, absent: object = None, complete: object = True,
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


def _check_annotations(count: int, labels: object, absent: object = None,
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
_cached_annotation = lru_cache(maxsize=4096, typed=True)(_check_annotation)


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
    return _check_annotation(labels, absent, complete, known)


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
