# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Instances of our interfaces in which every field has a value that is not its default."""

import importlib
import re
import zlib
from pathlib import Path

from rclpy.qos import DurabilityPolicy, QoSProfile

# A message sent before the other side is connected arrives all the same.
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROOT = Path(__file__).parents[2]


def message_types():
    """Return name to class of all messages of msg/."""
    module = importlib.import_module('proemlc_ros.msg')
    return {path.stem: getattr(module, path.stem) for path in sorted(ROOT.glob('msg/*.msg'))}


def service_types():
    """Return name to class of all services of srv/."""
    module = importlib.import_module('proemlc_ros.srv')
    return {path.stem: getattr(module, path.stem) for path in sorted(ROOT.glob('srv/*.srv'))}


def sample(kind):
    """Return an instance with every field set, the same one each time."""
    message = kind()
    for name, type_name in kind.get_fields_and_field_types().items():
        setattr(message, name, _value(type_name, zlib.crc32(name.encode())))
    return message


def _value(type_name, seed):
    """Return a value of a field's type; `seed` makes fields differ."""
    if sequence := re.fullmatch(r'sequence<([\w/]+)>', type_name):
        return [_value(sequence[1], seed + index) for index in range(3)]
    if type_name == 'string':
        return f'Tasse Nr. {seed} – カップ'
    if type_name == 'boolean':
        return False if seed == zlib.crc32(b'complete') else True  # its default is true
    if type_name in ('float', 'double'):
        return (seed % 1000) / 8 + 0.125  # exact in single precision
    if '/' in type_name:
        package, name = type_name.split('/')
        return sample(getattr(importlib.import_module(f'{package}.msg'), name))
    bits = int(re.search(r'\d+', type_name)[0])
    return seed % (2 ** (bits - 1) - 1) + 1
