# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Picture files that are none, or claim more pixels than fit into the memory."""

import struct

import pytest

from proemlc_ros.bags.pictures import read_picture
from proemlc_ros.errors import DataSetError

FILES = {
    'more pixels than OpenCV takes.pgm': b'P5 60000 60000 255\n' + bytes(100),
    'more pixels than memory.png': b'\x89PNG\r\n\x1a\n' + struct.pack(
        '>I4sIIBBBBBI', 13, b'IHDR', 30_000, 30_000, 8, 0, 0, 0, 0, 0),
    'empty.jpg': b'',
    'text.jpg': b'hello',
}


@pytest.mark.parametrize('name', FILES)
def test_a_file_that_is_no_picture_is_said(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    with pytest.raises(DataSetError, match=name):
        read_picture(path)
