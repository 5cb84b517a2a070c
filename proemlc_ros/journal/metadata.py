# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Topics and files of a journal, and its metadata.yaml, version 9 (Jazzy).

The metadata also says how the journal must end: files, last number, and head of the chain of
digests, so that a lost end is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import yaml

from proemlc_ros.files import replace_text
from proemlc_ros.journal.proof import LARGEST_NUMBER, Row

VERSION = 9
# Written with every start of a node: five times as fast in compiled code.
_DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
# Keys of rosbag2's mapping for the data of others.
_LAST, _HELD = 'proemlc_last', 'proemlc_held'
_HEAD, _SEAL = 'proemlc_head', 'proemlc_seal'
# What rosbag2 writes as the starting time of a bag without messages.
NO_TIME = 2**63 - 1


@dataclass(frozen=True)
class BagTopic:
    """A topic of a bag.

    Args:
        name: fully qualified name.
        type: full name of the message type, such as 'std_msgs/msg/Header'.
        count: number of messages.
        readable: whether the type is known, from the bag or from this installation.
        definition: text of the type with the types that it needs; empty where not known.
        type_hash: RIHS01 hash of the type; empty where not known.
    """

    name: str
    type: str
    count: int = 0
    readable: bool = True
    definition: str = ''
    type_hash: str = ''


@dataclass
class FileSummary:
    """What one file of a journal holds.

    Args:
        name: of the file.
        numbers: of all entries, as ranges.
        first_time: nanoseconds of the first entry, None without any.
        last_time: nanoseconds of the last entry, None without any.
        by_topic: entries by topic number.
    """

    name: str
    numbers: list[range] = field(default_factory=list)
    first_time: int | None = None
    last_time: int | None = None
    by_topic: dict[int, int] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """Number of the last entry; 0 without any."""
        return self.numbers[-1][-1] if self.numbers else 0

    def add(self, row: Row) -> None:
        """Take note of an entry behind all others."""
        number, topic, time, _ = row
        if self.numbers and self.numbers[-1].stop == number:
            self.numbers[-1] = range(self.numbers[-1].start, number + 1)
        else:
            self.numbers.append(range(number, number + 1))
        self.first_time = time if self.first_time is None else min(self.first_time, time)
        self.last_time = time if self.last_time is None else max(self.last_time, time)
        self.by_topic[topic] = self.by_topic.get(topic, 0) + 1


class Expected(NamedTuple):
    """How a journal must end, by its metadata.yaml.

    Args:
        files: names, with the time of the first entry in nanoseconds.
        last: number of the last entry, at least.
        held: number of the last entry in the files; smaller where the last ones were dropped.
        head: chain value of the last entry; None where not known.
        problem: what is wrong with the metadata, in words; empty where nothing is.
    """

    files: dict[str, int] = {}
    last: int = 0
    held: int = 0
    head: bytes | None = None
    problem: str = ''

    def lists(self, name: str, time: int | None) -> bool:
        """Tell whether a file is listed; not if one with another first entry has its name."""
        return name in self.files and (time is None or self.files[name] in (time, NO_TIME))


def read_metadata(folder: Path) -> Expected:
    """Return what metadata.yaml says; never fails."""
    try:
        text = (folder / 'metadata.yaml').read_text(encoding='utf-8')
        content = yaml.load(text, Loader=_LOADER)['rosbag2_bagfile_information']
        files = {str(file['path']): int(file['starting_time']['nanoseconds_since_epoch'])
                 for file in content['files']}
        custom = content.get('custom_data') or {}
        if _LAST not in custom:
            # Entries are counted without those that are gone: there were at least as many.
            count = min(int(content['message_count']), LARGEST_NUMBER)
            return Expected(files, count, count)
        if custom[_SEAL] != _seal(custom, files):
            return Expected(problem='metadata.yaml is damaged')
        return Expected(files, int(custom[_LAST]), int(custom[_HELD]),
                        bytes.fromhex(custom[_HEAD]) or None)
    except FileNotFoundError:
        return Expected(problem='metadata.yaml is missing')
    except Exception:  # Rubbish raises what it likes.
        return Expected(problem='metadata.yaml is damaged')


def write_metadata(folder: Path, topics: Sequence[BagTopic], files: Sequence[FileSummary],
                   last: int, head: bytes | None) -> None:
    """Write metadata.yaml atomically.

    Args:
        folder: of the journal.
        topics: all topics of the journal.
        files: all files of the journal, oldest first.
        last: number of the last entry.
        head: chain value of the last entry; None where not known.
    """
    custom = {_LAST: str(last), _HELD: str(max((file.last for file in files), default=0)),
              _HEAD: (head or b'').hex()}
    custom[_SEAL] = _seal(custom, [file.name for file in files])
    replace_text(folder / 'metadata.yaml', _render(topics, files, custom))


def _seal(custom: Mapping[str, str], files: Iterable[str]) -> str:
    """Return a checksum: what is expected must not come out of a damaged file."""
    text = ' '.join([custom[_LAST], custom[_HELD], custom[_HEAD], *files])
    return blake2b(text.encode('utf-8', 'surrogateescape'), digest_size=8).hexdigest()


def _render(topics: Sequence[BagTopic], files: Sequence[FileSummary],
            custom: dict[str, str]) -> str:
    return str(yaml.dump({'rosbag2_bagfile_information': {
        'version': VERSION,
        'storage_identifier': 'sqlite3',
        **_extent(files),
        'topics_with_message_count': [_topic_entry(number, topic, files)
                                      for number, topic in enumerate(topics, 1)],
        'compression_format': '',
        'compression_mode': '',
        'relative_file_paths': [file.name for file in files],
        'files': [{'path': file.name, **_extent([file])} for file in files],
        'custom_data': custom,
        'ros_distro': 'jazzy',
    }}, Dumper=_DUMPER, sort_keys=False, allow_unicode=True))


def _topic_entry(number: int, topic: BagTopic,
                 files: Sequence[FileSummary]) -> dict[str, object]:
    return {
        'topic_metadata': {
            'name': topic.name,
            'type': topic.type,
            'serialization_format': 'cdr',
            'offered_qos_profiles': [],
            'type_description_hash': topic.type_hash,
        },
        'message_count': sum(file.by_topic.get(number, 0) for file in files),
    }


def _extent(files: Sequence[FileSummary]) -> dict[str, object]:
    """Return time span and number of messages of some files."""
    firsts = [file.first_time for file in files if file.first_time is not None]
    lasts = [file.last_time for file in files if file.last_time is not None]
    start = min(firsts, default=NO_TIME)
    return {
        'duration': {'nanoseconds': max(lasts) - start if lasts else 0},
        'starting_time': {'nanoseconds_since_epoch': start},
        'message_count': sum(sum(file.by_topic.values()) for file in files),
    }
