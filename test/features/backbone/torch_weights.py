# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Weight files of torch's old format, made here without torch."""

import pickle

MAGIC, FORMAT_VERSION = 0x1950A86A20F9469CFC6C, 1001


def pickled(value):
    """Return a pickle of plain values, of the protocol that torch used."""
    return pickle.dumps(value, protocol=2)


def name(text):
    """Return the opcodes of a global name."""
    module, attribute = text.rsplit(' ', 1)
    return b'c' + module.encode() + b'\n' + attribute.encode() + b'\n'


def inner(value):
    """Return the opcodes of a plain value, without frame and end."""
    return pickled(value)[2:-1]


def tensor(key, count, offset, size, stride, kind='torch FloatStorage'):
    """Return the opcodes of a tensor."""
    storage = b'(' + inner('storage') + name(kind) + inner(key) + inner('cpu') + inner(
        count) + b'N' + b't' + b'Q'
    return (name('torch._utils _rebuild_tensor_v2') + b'(' + storage + inner(offset)
            + inner(size) + inner(stride) + b'\x89' + name('collections OrderedDict') + b')R'
            + b't' + b'R')


def dictionary(tensors):
    """Return the pickle of tensors by name, each given by its opcodes."""
    items = b''.join(inner(key) + opcodes for key, opcodes in tensors.items())
    return b'\x80\x02' + name('collections OrderedDict') + b')R(' + items + b'u.'


def head():
    return pickled(MAGIC) + pickled(FORMAT_VERSION) + pickled(
        {'protocol_version': FORMAT_VERSION, 'little_endian': True, 'type_sizes': {}})
