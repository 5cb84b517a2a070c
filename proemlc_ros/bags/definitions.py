# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Our message types for the rosbags library: definitions, hashes and (de)serialisation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proemlc_ros.classifier.records import Vector
from proemlc_ros.errors import BagError

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

PACKAGE = 'proemlc_ros'


@cache
def message_folder() -> Path:
    """Return the folder of our .msg files: a checkout's, or the installed one.

    Raises:
        BagError: there is none, which means a broken installation.
    """
    for folder in _candidates():
        if (folder / 'LabelAnnotation.msg').is_file():
            return folder
    raise BagError(f'the message definitions of {PACKAGE} are not installed; install it again')


def _candidates() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[2] / 'msg'
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    for prefix in [*filter(None, prefixes), sys.prefix]:
        yield Path(prefix) / 'share' / PACKAGE / 'msg'
    # Where pip installs into a folder that is not the interpreter's own.
    yield Path(__file__).resolve().parents[5] / 'share' / PACKAGE / 'msg'


def new_typestore() -> Typestore:
    """Return the types of ROS 2 Jazzy together with ours."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    types: dict[str, Any] = {}
    for path in sorted(message_folder().glob('*.msg')):
        types.update(get_types_from_msg(path.read_text('utf-8'), f'{PACKAGE}/msg/{path.stem}'))
    store.register(types)
    return store


def definition_and_hash(type_name: str) -> tuple[str, str]:
    """Return a type's definition with those that it needs, and its RIHS01 hash."""
    store = new_typestore()
    return store.generate_msgdef(type_name, ros_version=2)[0], store.hash_rihs01(type_name)


class RosbagsMessages:
    """Makes messages with the rosbags library, where there is no ROS."""

    def __init__(self) -> None:
        self.store = new_typestore()

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
