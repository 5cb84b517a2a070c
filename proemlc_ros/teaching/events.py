# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Changes of the model that are not annotations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class EventKind(IntEnum):
    """What happened; the values are those of ModelEvent."""

    UNDO = 1
    RENAME = 2
    REMOVE = 3
    RESET = 4
    LOAD = 5


@dataclass(frozen=True, slots=True)
class Event:
    """A change of the model that is journalled so that a replay repeats it.

    Args:
        kind: what happened.
        stamp: nanoseconds; when it happened.
        label: the label concerned, empty where the kind uses none.
        new_label: the label's new name, for RENAME.
        file_name: the model file, for LOAD.
    """

    kind: EventKind
    stamp: int = 0
    label: str = ''
    new_label: str = ''
    file_name: str = ''
