# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from proemlc_ros.files import replace_bytes, replace_text


@pytest.fixture
def umask():
    """Let new files be read by nobody else."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_a_new_file_has_the_usual_permissions(umask, tmp_path):
    replace_text(tmp_path / 'view', 'text')
    replace_bytes(tmp_path / 'model', b'data')
    for name in ('view', 'model'):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / 'model'
    path.write_text('old')
    path.chmod(0o640)
    replace_text(path, 'né')
    assert path.read_text(encoding='utf-8') == 'né' and path.stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / 'model'
    path.write_text('old')

    def full_disk(*_):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(os, 'fsync', full_disk)
    with pytest.raises(OSError, match='No space left'):
        replace_text(path, 'new')
    assert path.read_text() == 'old' and os.listdir(tmp_path) == ['model']


def test_a_relative_path_is_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replace_text(Path('here'), 'text')
    assert (tmp_path / 'here').read_text() == 'text'
