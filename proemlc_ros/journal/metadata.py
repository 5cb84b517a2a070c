# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of a journal with their message definitions, and its metadata.yaml, version 9 (Jazzy).

The metadata also says how the journal must end: files, last number, and head of the chain of
digests, so that a lost end is noticed. The definitions come from the .msg files: a robot's
classifier needs them for a new journal, and only the tools for bags need the library rosbags.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import yaml

from proemlc_ros.errors import BagError
from proemlc_ros.files import replace_text
from proemlc_ros.journal.entries import ENTRY_TYPES, LARGEST_NUMBER, Row

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


# ----- definitions -----


_PACKAGE = 'proemlc_ros'
_TOPIC_ENDINGS = ('annotations', 'events', 'pictures')
# The fields that the newest version of each type has last; a definition without it is older.
_NEWEST_FIELDS = ('entry', 'entry', 'data')
_SEPARATOR = '=' * 80
_HASH = re.compile('RIHS01_[0-9a-f]{64}')
# Types of others that a journal has, or that ours contain.
_OTHERS = {'sensor_msgs/CompressedImage': 'std_msgs/Header header\nstring format\nuint8[] data\n',
           'std_msgs/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
           'builtin_interfaces/Time': 'int32 sec\nuint32 nanosec\n'}


@cache
def entry_definition(type_name: str) -> tuple[str, str]:
    """Return the definition of one of our types with those that it needs, and its RIHS01 hash.

    Args:
        type_name: such as 'proemlc_ros/msg/LabelAnnotation'.

    Returns:
        As the library rosbags gives them; the hash is empty where it is not installed.

    Raises:
        BagError: our message definitions are missing: a broken installation.
    """
    name = type_name.replace('/msg/', '/')
    parts = [_text(name)]
    seen = {name}
    _add_needed(parts[0], parts, seen)
    return '\n'.join([parts[0].rstrip('\n'), *(part.rstrip('\n') for part in parts[1:]), '']), (
        _hash_of(type_name))


def _is_version_of(definition: str, type_hash: str, type_name: str) -> bool:
    """Tell whether a definition is one of ours, of this version or another.

    Versions differ in fields and constants that later ones have at the end.

    Args:
        definition: text of a type with those that it needs.
        type_hash: RIHS01 hash of the type; empty where not known.
        type_name: such as 'proemlc_ros/msg/LabelAnnotation'.
    """
    if type_hash and not _HASH.fullmatch(type_hash):
        return False
    try:
        current, current_hash = entry_definition(type_name)
    except (BagError, OSError):
        return bool(definition)  # A broken installation does not damage a journal.
    if definition == current or type_hash and type_hash == current_hash:
        return definition == current and (
            not type_hash or not current_hash or type_hash == current_hash)
    ours, theirs = _parts(current), _parts(definition)
    return bool(theirs) and (set(theirs) <= set(ours) or len(theirs) > len(ours)) and all(
        lines[:len(ours[name])] == ours[name][:len(lines)] and bool(lines)
        for name, lines in theirs.items() if name in ours)


def _parts(definition: str) -> dict[tuple[str, bool], list[str]]:
    """Return the constants and the fields of each type in a definition."""
    parts: dict[tuple[str, bool], list[str]] = {}
    for block in definition.split(f'{_SEPARATOR}\nMSG: '):
        name, lines = ('', block.splitlines()) if not parts else (
            block.partition('\n')[0], block.splitlines()[1:])
        for line in lines:
            parts.setdefault((name, '=' in line), []).append(line)
    return parts


def _add_needed(text: str, parts: list[str], seen: set[str]) -> None:
    for line in text.splitlines():
        name = line.split()[0].partition('[')[0]
        if '/' in name and name not in seen:
            seen.add(name)
            needed = _text(name)
            parts.append(f'{_SEPARATOR}\nMSG: {name}\n{needed}')
            _add_needed(needed, parts, seen)


def _text(name: str) -> str:
    """Return constants, then fields, without comments and defaults."""
    if name in _OTHERS:
        return _OTHERS[name]
    text = (message_folder() / f'{name.partition("/")[2]}.msg').read_text(encoding='utf-8')
    constants, fields = [], []
    for line in text.splitlines():
        words = line.partition('#')[0].split()
        if not words:
            continue
        kind = words[0] if '/' in words[0] or words[0][0].islower() else f'{_PACKAGE}/{words[0]}'
        if '=' in ''.join(words[1:]):
            constants.append(f'{kind} {"".join(words[1:])}')
        else:
            fields.append(f'{kind} {words[1]}')
    return '\n'.join([*constants, *fields, ''])


def _hash_of(type_name: str) -> str:
    package, _, name = type_name.split('/')
    for folder in message_folders(package):
        try:
            content = json.loads((folder / f'{name}.json').read_text(encoding='utf-8'))
            return str(next(entry['hash_string'] for entry in content['type_hashes']
                            if entry['type_name'] == type_name))
        except (OSError, ValueError, LookupError, StopIteration):
            continue
    return ''


def message_folder() -> Path:
    """Return the folder of our .msg files: that of a checkout, or the installed one.

    Raises:
        BagError: there is none.
    """
    for folder in message_folders():
        if (folder / 'LabelAnnotation.msg').is_file():
            return folder
    raise BagError(f'the message definitions of {_PACKAGE} are not installed; install it again')


def message_folders(package: str = _PACKAGE) -> Iterator[Path]:
    """Yield where the messages of a package may be, the checkout first."""
    if package == _PACKAGE:
        yield Path(__file__).resolve().parents[2] / 'msg'
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    # Where pip installs into a folder that is not the interpreter's own.
    others = Path(__file__).resolve().parents[5:6]
    for prefix in [*map(Path, [*filter(None, prefixes), sys.prefix]), *others]:
        yield prefix / 'share' / package / 'msg'


def new_topics(node_name: str) -> list[BagTopic]:
    """Return the topics of a new journal; node_name: fully qualified, begins their names."""
    topics = []
    for ending, type_name in zip(_TOPIC_ENDINGS, ENTRY_TYPES, strict=True):
        definition, type_hash = entry_definition(type_name)
        topics.append(BagTopic(f'{node_name.rstrip("/")}/{ending}', type_name,
                               definition=definition, type_hash=type_hash))
    return topics


def are_whole(topics: Sequence[BagTopic]) -> bool:
    """Tell whether topics, which may be damaged, are those of a journal of any version."""
    if [topic.type for topic in topics] != list(ENTRY_TYPES[:len(topics)]) or not topics:
        return False
    if not all(isinstance(text, str) for topic in topics
               for text in (topic.name, topic.definition, topic.type_hash)):
        return False
    if len(topics) < len(ENTRY_TYPES) and _has_last(topics[0], _NEWEST_FIELDS[0]):
        return False  # Only earlier versions had fewer topics.
    nodes = {topic.name.removesuffix(f'/{ending}')
             for topic, ending in zip(topics, _TOPIC_ENDINGS, strict=False)}
    return len(nodes) == 1 and topics[0].name not in nodes and all(
        _is_version_of(topic.definition, topic.type_hash, topic.type) for topic in topics)


def are_current(topics: Sequence[BagTopic]) -> bool:
    """Tell whether a file with these topics takes the messages of this version."""
    return ([topic.type for topic in topics] == list(ENTRY_TYPES)
            and all(map(_has_last, topics, _NEWEST_FIELDS)))


def _has_last(topic: BagTopic, field: str) -> bool:
    """Tell whether a field is the last one of the type that a topic defines."""
    # Behind it are the types that it needs. Damage may have left no definition at all.
    own = (topic.definition or '').partition('\n====')[0]
    lines = [line.partition('#')[0].split() for line in own.splitlines()]
    fields = [words[1] for words in lines if len(words) > 1 and '=' not in words[1]]
    return fields[-1:] == [field]
