# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which files a durable touches: those of its own folder, and nobody else does."""

from __future__ import annotations

import pytest

from proemlc_ros.classifier.model_directory import ModelDirectory
from proemlc_ros.errors import ModelDirectoryError


def test_two_sessions_cannot_share_a_folder(opened, tmp_path):
    opened()
    with pytest.raises(ModelDirectoryError, match='another classifier'):
        ModelDirectory(tmp_path / 'model')


@pytest.mark.parametrize('name', ['../x', '/etc/passwd', 'a/b', '.hidden', 'a\nb', '..', 'a\\b',
                                  'x' * 300])
def test_file_names_stay_inside(opened, name):
    durable = opened()
    for action in (durable.save, durable.load):
        with pytest.raises(ModelDirectoryError, match='plain file name'):
            action(name)


def test_links_out_and_large_files_are_refused(opened, tmp_path):
    durable = opened()
    outside = tmp_path / 'outside.npz'
    outside.write_bytes(b'x')
    (tmp_path / 'model/link.npz').symlink_to(outside)
    with pytest.raises(ModelDirectoryError, match='link'):
        durable.load('link')
    with pytest.raises(ModelDirectoryError, match='link'):
        durable.save('link')
    assert outside.read_bytes() == b'x'
    durable.save('big')
    durable.directory.max_file_bytes = 10
    with pytest.raises(ModelDirectoryError, match='max_model_file_mb'):
        durable.load('big')
    with pytest.raises(ModelDirectoryError, match='big.npz'):
        durable.load('missing')
