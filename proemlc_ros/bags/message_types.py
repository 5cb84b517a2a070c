# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Message types for the rosbags library: those of ROS, ours, and those that a bag defines.

Definitions of a bag are held to limits before rosbags parses them: its parser takes 0.4 ms per
line, minutes for 100,000 blank lines, and twice as long for each bracket around a number;
expressions are worked out whatever their result. ROS writes far less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from rosbags.interfaces import Connection, MessageDefinition, MessageDefinitionFormat
from rosbags.interfaces.typing import Typesdict
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from proemlc_ros.journal.metadata import message_folder
from proemlc_ros.records import Vector

MAX_CHARACTERS = 1_000_000
# Lines with content: of one definition, and of all in a bag.
MAX_LINES = 5_000
MAX_LINES_IN_ALL = 20_000
# In IDL. ROS nests two: sequence<string<10>>.
MAX_NESTING = 4
MAX_TYPEDEFS = 100
_IGNORED = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_ANNOTATION = re.compile(r'@\w+\s*\([^()]*\)')
_EXPRESSION = re.compile(r'[()|^&~%*/]|<<|[-+]\s*[-+]')


class _DefinitionReader:
    """Hands out the definitions of one bag, as long as they are within the limits."""

    def __init__(self) -> None:
        self._lines = 0

    def text_of(self, definition: MessageDefinition) -> str:
        """Return the text to parse.

        Raises:
            ValueError: a limit is exceeded; names it.
        """
        text = definition.data
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f'it has {len(text)} characters, more than the limit of '
                             f'{MAX_CHARACTERS}')
        lines = [line for line in text.splitlines()
                 if line.strip() and not line.lstrip().startswith('#')]
        if len(lines) > MAX_LINES:
            raise ValueError(f'it has {len(lines)} lines, more than the limit of {MAX_LINES}')
        self._lines += len(lines)
        if self._lines > MAX_LINES_IN_ALL:
            raise ValueError(f'the definitions of the bag have more than the limit of '
                             f'{MAX_LINES_IN_ALL} lines')
        if definition.format == MessageDefinitionFormat.MSG:
            return '\n'.join(lines)
        _check_idl(text)
        return text


def _check_idl(text: str) -> None:
    """Check for what the parser takes exponential time for, and ROS never writes."""
    code = _ANNOTATION.sub('', _IGNORED.sub('', text))
    if found := _EXPRESSION.search(code):
        raise ValueError(f'it has an expression with {found[0]!r}; only numbers are allowed')
    if code.count('typedef') > MAX_TYPEDEFS:
        raise ValueError(f'it has more than the limit of {MAX_TYPEDEFS} typedefs')
    for opening, closing in ('<>', '{}', '[]'):
        depth = 0
        for character in code:
            depth += (character == opening) - (character == closing)
            if depth > MAX_NESTING:
                raise ValueError(f'it nests {opening}{closing} deeper than the limit of '
                                 f'{MAX_NESTING}')


_PACKAGE = 'proemlc_ros'
# Numbers of fields that our types had before later ones were added at their ends, newest first.
EARLIER_FIELDS = {
    f'{_PACKAGE}/msg/{name}': counts for name, counts in (
        ('FeatureVector', (3,)), ('LabelAnnotation', (8, 7)), ('LabelQuery', (8,)),
        ('LabelSet', (8, 6)), ('ModelEvent', (10, 5)), ('Prediction', (5,)))}
_IDL_SEPARATOR = '=' * 80 + '\n'


class RosbagsMessages:
    """Makes messages with the rosbags library, where there is no ROS (a `MessageFactory`)."""

    def __init__(self) -> None:
        self.store = default_typestore()

    def new(self, type_name: str, **fields: Any) -> Any:
        """Return a message of a type such as 'std_msgs/msg/Header'."""
        return self.store.types[type_name](**fields)

    def floats(self, values: Vector) -> Vector:
        """Return the values as rosbags wants them."""
        return np.ascontiguousarray(values, np.float32)

    def serialize(self, message: Any, type_name: str) -> bytes:
        """Return the message as CDR bytes."""
        return bytes(self.store.serialize_cdr(message, type_name))

    def deserialize(self, data: bytes, type_name: str) -> Any:
        """Return the message of CDR bytes."""
        return self.store.deserialize_cdr(data, type_name)


class GuessedTypeReader:
    """Reads messages of a type that the bag does not define; the first one shows its version.

    Args:
        name: name of the type.
        types: typestore to try first.
    """

    def __init__(self, name: str, types: Typestore) -> None:
        self._name = name
        self._types = types
        self._matching: Typestore | None = None

    def __call__(self, data: bytes) -> object:
        """Return the message of CDR bytes.

        Raises:
            SerdeError: the bytes fit no known version of the type.
        """
        if self._matching is None:
            self._matching = matching_typestore(self._name, data, self._types)
        return (self._matching or self._types).deserialize_cdr(data, self._name)


@cache
def default_typestore() -> Typestore:
    """Return the types of ROS 2 Jazzy and of this package.

    Raises:
        BagError: our message definitions are missing: a broken installation.
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    types: Typesdict = {}
    for path in sorted(message_folder().glob('*.msg')):
        types.update(get_types_from_msg(path.read_text('utf-8'), f'{_PACKAGE}/msg/{path.stem}'))
    store.register(types)
    return store


def definition_and_hash(type_name: str, store: Typestore | None = None) -> tuple[str, str]:
    """Return a type's definition with those that it needs, and its RIHS01 hash.

    Args:
        type_name: name of the type.
        store: typestore that knows it; None: the default one.
    """
    store = store or default_typestore()
    return store.generate_msgdef(type_name, ros_version=2)[0], store.hash_rihs01(type_name)


def full_type_name(name: str) -> str:
    """Return a type's name with the /msg/ that bags of early ROS 2 leave out."""
    package, _, rest = name.partition('/')
    return name if '/' in rest or not rest else f'{package}/msg/{rest}'


def is_defined(definition: MessageDefinition) -> bool:
    """Tell whether a bag defines a type; an empty text defines nothing."""
    return definition.format != MessageDefinitionFormat.NONE and bool(definition.data.strip())


def typestore_of(connections: Iterable[Connection], notes: list[str]) -> Typestore:
    """Return a typestore that reads a bag by its own definitions, where it has any.

    Args:
        connections: topics of the bag.
        notes: gets a line for each definition that cannot be used.
    """
    defined: Typesdict = {}
    limits = _DefinitionReader()
    # Many topics may share a type.
    for name, definition in dict.fromkeys(
            (connection.msgtype, connection.msgdef) for connection in connections):
        try:
            defined.update(_parsed(definition, full_type_name(name), limits))
        except Exception as error:
            # rosbags raises errors of many kinds; whatever it is, the definition is at fault.
            notes.append(f'the definition of {name[:200]} cannot be parsed: '
                         f'{str(error)[:200] or type(error).__name__}')
    default = default_typestore()
    # A bag that agrees with the default shares its store, which takes 0.1 s to make.
    if all(default.fielddefs[name][1] == fields[1]
           for name, fields in defined.items() if name in default.fielddefs):
        defined = {name: fields for name, fields in defined.items()
                   if name not in default.fielddefs}
        if not defined:
            return default
    store = get_typestore(Stores.EMPTY)
    try:
        store.register({**default.fielddefs, **defined})
    except Exception as error:  # As above.
        notes.append('the definitions in it cannot be used; those of this installation are: '
                     f'{str(error)[:200] or type(error).__name__}')
        return default
    return store


def matching_typestore(name: str, data: bytes, types: Typestore) -> Typestore | None:
    """Return the typestore whose version of a type fits a serialized message; None: no known one.

    Some types of ROS have grown (sensor_msgs/Range did in Jazzy), so a message of a bag that does
    not define its types may be that of an older distribution.

    Args:
        name: name of the type.
        data: the message.
        types: typestore to try first.
    """
    for store in (types, *_older_typestores()):
        if name in store.fielddefs:
            try:
                store.deserialize_cdr(data, name)
            except SerdeError:
                continue
            return store
    return None


def is_ours(name: str, types: Typestore) -> bool:
    """Tell whether a typestore has some version of one of our types under its name."""
    return name in EARLIER_FIELDS and types.fielddefs[name][1] in [
        store.fielddefs[name][1] for store in (default_typestore(), *_earlier_typestores())]


def read_any_version(name: str, types: Typestore, data: bytes) -> object:
    """Return a message of one of our types; a bag may hold those of several versions.

    Args:
        name: name of the type.
        types: typestore of the bag, tried first.
        data: CDR bytes.

    Raises:
        SerdeError: the bytes fit no version of the type.
    """
    try:
        return types.deserialize_cdr(data, name)
    except SerdeError:
        store = matching_typestore(name, data, default_typestore())
        if store is None:
            raise
        return store.deserialize_cdr(data, name)


@cache
def _earlier_typestores() -> list[Typestore]:
    """Return our types as they were without the later fields, newest first."""
    stores = []
    for version in range(max(map(len, EARLIER_FIELDS.values()))):
        store = get_typestore(Stores.EMPTY)
        store.register({
            name: (constants, fields[:_earlier_count(name, version, len(fields))])
            for name, (constants, fields) in default_typestore().fielddefs.items()})
        stores.append(store)
    return stores


def _earlier_count(name: str, version: int, now: int) -> int:
    """Return how many fields a type had so many versions of its own ago."""
    counts = EARLIER_FIELDS.get(name, (now,))
    return counts[min(version, len(counts) - 1)]


@cache
def _older_typestores() -> list[Typestore]:
    return [*_earlier_typestores(), *(get_typestore(store) for store in (
        Stores.ROS2_HUMBLE, Stores.ROS2_GALACTIC, Stores.ROS2_FOXY, Stores.ROS2_ELOQUENT,
        Stores.ROS2_DASHING))]


def _parsed(definition: MessageDefinition, name: str, limits: _DefinitionReader) -> Typesdict:
    if not is_defined(definition):
        return {}
    text = limits.text_of(definition)
    if definition.format == MessageDefinitionFormat.MSG:
        return get_types_from_msg(text, name)
    if not text.startswith(f'{_IDL_SEPARATOR}IDL: '):
        return get_types_from_idl(text)
    found: Typesdict = {}
    for part in text.split(_IDL_SEPARATOR)[1:]:
        found.update(get_types_from_idl(part.partition('\n')[2]))
    return found
