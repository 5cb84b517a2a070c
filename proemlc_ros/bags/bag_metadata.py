# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The metadata.yaml of a rosbag2 folder, version 9 (Jazzy)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from proemlc_ros.files import replace_text

VERSION = 9
# What rosbag2 writes as the starting time of a bag without messages.
_NO_TIME = 2**63 - 1


@dataclass(frozen=True)
class StoredTopic:
    """A topic as a bag lists it.

    Args:
        name: fully qualified name.
        type: such as 'std_msgs/msg/Header'.
        definition: the type's text with the types that it needs.
        type_hash: RIHS01 hash.
    """

    name: str
    type: str
    definition: str = ''
    type_hash: str = ''


@dataclass
class FileSummary:
    """What one file of a bag holds.

    Args:
        path: file name.
        first_time: nanoseconds of the first message, None without any.
        last_time: nanoseconds of the last message, None without any.
        counts: messages by topic name.
        last_id: number of the last message; 0 without any.
    """

    path: str
    first_time: int | None = None
    last_time: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    last_id: int = 0

    def to_text(self) -> str:
        """Return the summary as text; JSON, which is YAML as well."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> FileSummary:
        """Return the summary of such text.

        Raises:
            ValueError, TypeError: the text is not one of ours.
        """
        return cls(**json.loads(text))


def write_metadata(folder: Path, topics: Sequence[StoredTopic], files: Sequence[FileSummary]) -> None:
    """Write metadata.yaml atomically.

    Args:
        folder: of the bag.
        topics: all topics of the bag.
        files: all files of the bag, oldest first.
    """
    replace_text(folder / 'metadata.yaml', render(topics, files))


def render(topics: Sequence[StoredTopic], files: Sequence[FileSummary]) -> str:
    """Return the text of metadata.yaml."""
    lines = ['rosbag2_bagfile_information:', f'  version: {VERSION}',
             '  storage_identifier: sqlite3', *_span(files, '  ')]
    lines.append(f'  message_count: {_count(files)}')
    lines.append('  topics_with_message_count:')
    for topic in topics:
        count = sum(file.counts.get(topic.name, 0) for file in files)
        lines += ['    - topic_metadata:',
                  f'        name: {json.dumps(topic.name)}',
                  f'        type: {topic.type}',
                  '        serialization_format: cdr',
                  '        offered_qos_profiles: []',
                  f'        type_description_hash: {topic.type_hash}',
                  f'      message_count: {count}']
    lines += ['  compression_format: ""', '  compression_mode: ""', '  relative_file_paths:']
    lines += [f'    - {file.path}' for file in files]
    lines.append('  files:')
    for file in files:
        lines += [f'    - path: {file.path}', *_span([file], '      '),
                  f'      message_count: {_count([file])}']
    lines += ['  custom_data: ~', '  ros_distro: jazzy', '']
    return '\n'.join(lines)


def _count(files: Sequence[FileSummary]) -> int:
    return sum(sum(file.counts.values()) for file in files)


def _span(files: Sequence[FileSummary], indent: str) -> list[str]:
    firsts = [file.first_time for file in files if file.first_time is not None]
    lasts = [file.last_time for file in files if file.last_time is not None]
    start = min(firsts, default=_NO_TIME)
    duration = max(lasts) - start if lasts else 0
    return [f'{indent}duration:', f'{indent}  nanoseconds: {duration}',
            f'{indent}starting_time:', f'{indent}  nanoseconds_since_epoch: {start}']
