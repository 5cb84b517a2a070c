# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Message types for recordings: ROS's own, ours, and those that a recording defines itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from rosbags.interfaces import Connection, MessageDefinition, MessageDefinitionFormat
from rosbags.interfaces.typing import Typesdict
from rosbags.serde import SerdeError
from rosbags.typesys import (
    Stores,
    TypesysError,
    get_types_from_idl,
    get_types_from_msg,
    get_typestore,
)
from rosbags.typesys.store import Typestore

from proemlc_ros.bags.definitions import new_typestore

_IDL_SEPARATOR = '=' * 80 + '\n'


@cache
def default_types() -> Typestore:
    """Return the types of ROS 2 Jazzy and of this package, made once."""
    return new_typestore()


def full_type_name(name: str) -> str:
    """Return a type's name with the /msg/ that recordings of early ROS 2 leave out."""
    package, _, rest = name.partition('/')
    return name if '/' in rest or not rest else f'{package}/msg/{rest}'


def form_of(name: str, data: bytes, types: Typestore) -> Typestore | None:
    """Return the store in whose form a serialized message is; None: in no known one.

    Some of ROS's own types have grown (sensor_msgs/Range did in Jazzy), so a message of a
    recording that does not define its types may have the form of an older distribution.

    Args:
        name: Its type.
        data: The message.
        types: The store to try first.

    """
    for store in (types, *_older_types()):
        if name in store.fielddefs:
            try:
                store.deserialize_cdr(data, name)
            except SerdeError:
                continue
            return store
    return None


class GuessedTypeReader:
    """Reads messages of a type that the recording does not define; the first tells its form.

    Args:
        name: The type.
        types: The store to try first.

    """

    def __init__(self, name: str, types: Typestore) -> None:
        """Wait for the first message."""
        self._name = name
        self._types = types
        self._form: Typestore | None = None

    def __call__(self, data: bytes) -> object:
        """Return the message of CDR bytes.

        Raises:
            SerdeError: The bytes have no known form of the type.

        """
        if self._form is None:
            self._form = form_of(self._name, data, self._types)
        return (self._form or self._types).deserialize_cdr(data, self._name)


@cache
def _older_types() -> list[Typestore]:
    return [get_typestore(store) for store in (
        Stores.ROS2_HUMBLE, Stores.ROS2_GALACTIC, Stores.ROS2_FOXY, Stores.ROS2_ELOQUENT,
        Stores.ROS2_DASHING)]


def is_defined(definition: MessageDefinition) -> bool:
    """Whether a recording says what a type looks like; an empty text says nothing."""
    return definition.format != MessageDefinitionFormat.NONE and bool(definition.data.strip())


def types_of(connections: Iterable[Connection], notes: list[str]) -> Typestore:
    """Return a store that reads a recording by its own definitions, where it has any.

    Args:
        connections: The topics of the recording.
        notes: Gets a line for each definition that cannot be used.

    """
    defined: Typesdict = {}
    for connection in connections:
        try:
            defined.update(_parsed(connection.msgdef, full_type_name(connection.msgtype)))
        except (TypesysError, AssertionError, ValueError) as error:
            notes.append(f'the definition of {connection.msgtype} cannot be understood: {error}')
    default = default_types()
    if _agree(defined, default):
        new = {name: fields for name, fields in defined.items() if name not in default.fielddefs}
        if not new:
            return default
        defined = {**default.fielddefs, **new}
    else:
        defined = {**default.fielddefs, **defined}
    store = get_typestore(Stores.EMPTY)
    store.register(defined)
    return store


def _agree(defined: Typesdict, store: Typestore) -> bool:
    return all(
        store.fielddefs[name][1] == fields[1]
        for name, fields in defined.items() if name in store.fielddefs
    )


def _parsed(definition: MessageDefinition, name: str) -> Typesdict:
    if not is_defined(definition):
        return {}
    if definition.format == MessageDefinitionFormat.MSG:
        return get_types_from_msg(definition.data, name)
    if not definition.data.startswith(f'{_IDL_SEPARATOR}IDL: '):
        return get_types_from_idl(definition.data)
    found: Typesdict = {}
    for part in definition.data.split(_IDL_SEPARATOR)[1:]:
        found.update(get_types_from_idl(part.partition('\n')[2]))
    return found
