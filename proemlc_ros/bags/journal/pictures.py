# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures in the journal, each an entry of its own that belongs to an annotation.

A picture that is there in time is the entry just before its annotation, in the same transaction:
so the last entry of a journal is never one that a snapshot does not know. One that comes late is
written when it comes, and names its annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proemlc_ros.bags.cdr import picture_bytes
from proemlc_ros.bags.journal.entries import PICTURE_TOPIC
from proemlc_ros.classifier.records import Picture

PICTURE_PREFIX = 'picture'
"""How the references of pictures begin; what follows is the number of the annotation."""

_Row = tuple[int, bytes]


def picture_row(picture: Picture) -> _Row:
    """Return the index of the topic of a picture, and its bytes."""
    return PICTURE_TOPIC - 1, picture_bytes(picture)


def late_reference(number: int) -> str:
    """Return how a picture refers to an annotation that was written before."""
    return f'{PICTURE_PREFIX}:{number}'


def with_pictures(rows: Sequence[_Row], references: Sequence[str] | None,
                  pictures: Sequence[Picture | None] | None
                  ) -> tuple[Sequence[_Row], Sequence[str] | None, Sequence[int]]:
    """Put pictures before the annotations that they belong to.

    Args:
        rows: of the records.
        references: one per record; None: empty ones.
        pictures: one per record; None: none.

    Returns:
        All rows, their references, and where among them the records are.
    """
    if pictures is None or not any(pictures):
        return rows, references, range(len(rows))
    mixed: list[tuple[_Row, str]] = []
    places = []
    for row, reference, picture in zip(rows, references or [''] * len(rows), pictures,
                                       strict=True):
        if picture is not None:
            mixed.append((picture_row(picture), PICTURE_PREFIX))
        places.append(len(mixed))
        mixed.append((row, reference))
    return [row for row, _ in mixed], [reference for _, reference in mixed], places


def pictures_of(references: Iterable[tuple[int, str]]) -> dict[int, int]:
    """Return the entry of the picture of each annotation.

    Args:
        references: number and reference of the pictures' entries.
    """
    found = {}
    for number, reference in references:
        owner = reference.removeprefix(PICTURE_PREFIX).removeprefix(':')
        if not owner:
            found[number + 1] = number
        elif owner.isdecimal():
            found[int(owner)] = number
    return found
