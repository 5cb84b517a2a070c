# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The topics of a recording, and one message of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rosbags.interfaces import Connection
from rosbags.typesys.store import Typestore

from proemlc_ros.bags.message_types import full_type_name, is_defined


@dataclass(frozen=True)
class BagTopic:
    """One topic of a recording.

    Attributes:
        name: Its name.
        type: Full name of its message type.
        count: Number of messages.
        readable: Whether the type is known, from the recording or from ROS.

    """

    name: str
    type: str
    count: int
    readable: bool


class BagMessage(NamedTuple):
    """One message: its topic, when it was recorded in nanoseconds, and its content."""

    topic: BagTopic
    time: int
    message: Any


def describe(
    connections: Sequence[Connection], types: Typestore, notes: list[str]
) -> list[BagTopic]:
    """Return the topics of a recording.

    Args:
        connections: As `rosbags` describes them; a topic may be in several files.
        types: The types that can be read.
        notes: Gets a line for everything that is not as it should be.

    """
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for connection in connections:
        name = connection.topic
        names[name] = full_type_name(connection.msgtype)
        counts[name] = counts.get(name, 0) + connection.msgcount
        if names[name] != connection.msgtype:
            notes.append(f'{name} has the old type name {connection.msgtype}')
    if not any(is_defined(connection.msgdef) for connection in connections):
        notes.append('no message definitions in it; those of this installation are used')
    topics = [
        BagTopic(name, kind, counts[name], kind in types.fielddefs) for name, kind in names.items()
    ]
    for topic in topics:
        if topic.count and not topic.readable:
            notes.append(f'{topic.name} has the unknown type {topic.type}')
    return topics
