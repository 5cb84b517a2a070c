# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writing a new recording, with message definitions, that every ROS 2 tool can read."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from proemlc_ros import conversions
from proemlc_ros.errors import BagError
from proemlc_ros.teaching.moments import Annotation, Moment

from .definitions import RosbagsMessages

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

    def write_moment(self, moment: Moment, time: int, topic: str = FEATURES_TOPIC) -> None:
        """Write a feature vector as recorded at a time in nanoseconds."""
        message = conversions.moment_message(self.messages, moment)
        self._write(topic, conversions.FEATURES_TYPE, time, message)

    def write_annotation(
        self, annotation: Annotation, time: int, topic: str = ANNOTATIONS_TOPIC
    ) -> None:
        """Write an annotation as recorded at a time in nanoseconds."""
        message = conversions.annotation_message(self.messages, annotation)
        self._write(topic, conversions.ANNOTATION_TYPE, time, message)

    def copy(self, source: Connection, type_name: str, time: int, data: bytes) -> None:
        """Copy a message of another recording as it is.

        Args:
            source: Its topic there; definitions and QoS profiles are copied too.
            type_name: The full name of its type.
            time: When it was recorded, in nanoseconds.
            data: The serialized message.

        """
        connection = self._connections.get(source.topic)
        if connection is None:
            connection = self._copy_connection(source, type_name)
        self._writer.write(connection, time, data)

    def _write(self, topic: str, type_name: str, time: int, message: object) -> None:
        connection = self._connections.get(topic)
        if connection is None:
            connection = self._writer.add_connection(
                topic, type_name, typestore=self.messages.store)
            self._connections[topic] = connection
        self._writer.write(connection, time, self.messages.serialize(message, type_name))

    def _copy_connection(self, source: Connection, type_name: str) -> Connection:
        known = type_name in self.messages.store.fielddefs
        defined = bool(source.msgdef.data)
        connection = self._writer.add_connection(
            source.topic, type_name,
            typestore=self.messages.store if known and not defined else None,
            # Type and definition may both be unknown; rosbags then wants to be told so.
            msgdef=source.msgdef.data if defined or not known else None,
            rihs01=source.digest or 'RIHS01_unknown' if defined or not known else None,
            offered_qos_profiles=source.ext.offered_qos_profiles,
        )
        self._connections[source.topic] = connection
        return connection
