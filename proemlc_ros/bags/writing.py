# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writing a new recording, with message definitions, that every ROS 2 tool can read."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from proemlc_ros import conversions
from proemlc_ros.bags.definitions import RosbagsMessages
from proemlc_ros.bags.message_types import form_of, full_type_name, is_defined
from proemlc_ros.classifier.records import Annotation, StampedVector
from proemlc_ros.errors import BagError

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
# Names of the classifier node's topics, so that a played recording needs no remapping.
FEATURES_TOPIC = '/proemlc/features'
ANNOTATIONS_TOPIC = '/proemlc/annotations'


class BagWriter(AbstractContextManager['BagWriter']):
    """A new recording; on an error nothing of it stays behind.

    Args:
        path: The folder to make.
        storage: 'mcap' or 'sqlite3'.

    Raises:
        BagError: The folder exists already, or cannot be made.

    """

    def __init__(self, path: str | Path, storage: str = 'mcap') -> None:
        """Begin the recording."""
        self.path = Path(path)
        if self.path.exists():
            raise BagError(f'{self.path}: exists already; choose another name or remove it')
        self.messages = RosbagsMessages()
        self._connections: dict[str, Connection] = {}
        try:
            self._writer = Writer(self.path, version=9, storage_plugin=STORAGES[storage])
            self._writer.open()
        except (OSError, WriterError) as error:
            raise BagError(f'{self.path}: cannot be written: {error}') from error

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish the recording, or remove it after an error."""
        if kind is None:
            self._writer.close()
        else:
            self._writer.abort()
            shutil.rmtree(self.path, ignore_errors=True)

    def write_moment(self, moment: StampedVector, time: int, topic: str = FEATURES_TOPIC) -> None:
        """Write a feature vector as recorded at a time in nanoseconds."""
        message = conversions.feature_vector_message(self.messages, moment)
        self._write(topic, conversions.FEATURES_TYPE, time, message)

    def write_annotation(
        self, annotation: Annotation, time: int, topic: str = ANNOTATIONS_TOPIC
    ) -> None:
        """Write an annotation as recorded at a time in nanoseconds."""
        message = conversions.annotation_message(self.messages, annotation)
        self._write(topic, conversions.ANNOTATION_TYPE, time, message)

    def copy(self, source: Connection, types: Typestore, time: int, data: bytes) -> None:
        """Copy a message of another recording as it is.

        Args:
            source: Its topic there; definitions and QoS profiles are copied too.
            types: The types of that recording.
            time: When it was recorded, in nanoseconds.
            data: The serialized message.

        """
        connection = self._connections.get(source.topic)
        if connection is None:
            connection = self._copy_connection(source, types, data)
        self._writer.write(connection, time, data)

    def _write(self, topic: str, type_name: str, time: int, message: object) -> None:
        connection = self._connections.get(topic)
        if connection is None:
            connection = self._writer.add_connection(
                topic, type_name, typestore=self.messages.store)
            self._connections[topic] = connection
        self._writer.write(connection, time, self.messages.serialize(message, type_name))

    def _copy_connection(self, source: Connection, types: Typestore, data: bytes) -> Connection:
        name = full_type_name(source.msgtype)
        definition, digest = source.msgdef.data, source.digest
        if not is_defined(source.msgdef):
            definition, digest = _definition(name, form_of(name, data, types))
        connection = self._writer.add_connection(
            source.topic, name, msgdef=definition,
            # Storage mcap keeps no hashes.
            rihs01=digest or types.hash_rihs01(name),
            offered_qos_profiles=source.ext.offered_qos_profiles,
        )
        self._connections[source.topic] = connection
        return connection


def _definition(name: str, store: Typestore | None) -> tuple[str, str]:
    """Return definition and hash of a type; those of an empty one where it is not known."""
    if store is not None:
        return store.generate_msgdef(name, ros_version=2)[0], store.hash_rihs01(name)
    nothing = get_typestore(Stores.EMPTY)
    nothing.register(get_types_from_msg('', name))
    return '', nothing.hash_rihs01(name)
