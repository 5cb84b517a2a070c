# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Weight files of torch's old format."""

import struct

import pytest
from torch_weights import dictionary, head, pickled


@pytest.fixture
def write_weights(tmp_path):
    """Return a function that writes a file: opcodes of tensors by name, values by key."""
    def write(tensors, storages, tail=b''):
        path = tmp_path / 'weights.pth'
        body = b''.join(struct.pack('<q', len(values)) + values.tobytes()
                        for values in storages.values())
        state = tensors if isinstance(tensors, bytes) else dictionary(tensors)
        path.write_bytes(head() + state + pickled(list(storages)) + body + tail)
        return path
    return write
