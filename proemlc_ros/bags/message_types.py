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

from .definitions import new_typestore

_IDL_SEPARATOR = '=' * 80 + '\n'


@cache
def default_types() -> Typestore:
    """Return the types of ROS 2 Jazzy and of this package, made once."""
    return new_typestore()


def full_type_name(name: str) -> str:
    """Return a type's name with the /msg/ that recordings of early ROS 2 leave out."""
    package, _, rest = name.partition('/')
    return name if '/' in rest or not rest else f'{package}/msg/{rest}'


class TrialReader:
    """Reads messages of a type that the recording does not define.

    Some of ROS's own types have grown (sensor_msgs/Range did in Jazzy): the first message tells
    which distribution's form the recording has.

    Args:
        name: The type.
        types: The store to try first.

    """

    def __init__(self, name: str, types: Typestore) -> None:
        """Start with the form of today."""
        self._name = name
        self._store = types
        self._certain = False

    def __call__(self, data: bytes) -> object:
        """Return the message of CDR bytes.

        Raises:
            SerdeError: The bytes have no known form of the type.

        """
        try:
            message = self._store.deserialize_cdr(data, self._name)
        except SerdeError:
            if self._certain:
                raise
            message = self._try_older(data)
        self._certain = True
        return message

    def _try_older(self, data: bytes) -> object:
        for store in _older_types():
            if self._name in store.fielddefs:
                try:
                    message = store.deserialize_cdr(data, self._name)
                except SerdeError:
                    continue
                self._store = store
                return message
        return self._store.deserialize_cdr(data, self._name)


@cache
def _older_types() -> list[Typestore]:
    return [get_typestore(store) for store in (
        Stores.ROS2_HUMBLE, Stores.ROS2_GALACTIC, Stores.ROS2_FOXY, Stores.ROS2_ELOQUENT,
        Stores.ROS2_DASHING)]


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
    if definition.format == MessageDefinitionFormat.NONE:
        return {}
    if definition.format == MessageDefinitionFormat.MSG:
        return get_types_from_msg(definition.data, name)
    if not definition.data.startswith(f'{_IDL_SEPARATOR}IDL: '):
        return get_types_from_idl(definition.data)
    found: Typesdict = {}
    for part in definition.data.split(_IDL_SEPARATOR)[1:]:
        found.update(get_types_from_idl(part.partition('\n')[2]))
    return found
