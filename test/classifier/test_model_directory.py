# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Which files a durable touches: those of its own folder, and nobody else does."""

from __future__ import annotations

import os

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


def test_a_deleted_lock_file_lets_nobody_in(opened, tmp_path):
    opened()
    (tmp_path / 'model/.lock').unlink()
    with pytest.raises(ModelDirectoryError, match='another classifier'):
        ModelDirectory(tmp_path / 'model')


def test_the_older_snapshot_is_not_saved_by_name(opened, tmp_path):
    durable = opened()
    with pytest.raises(ModelDirectoryError, match='give another name'):
        durable.save('snapshot_older')
    assert durable.save('snapshot') == tmp_path / 'model/snapshot.npz'


def test_parameter_files_are_those_of_the_folder_and_of_the_package(opened, tmp_path):
    directory, outside = opened().directory, tmp_path / 'outside.yaml'
    inside = directory.path / 'lite0.yaml'
    for path in (inside, outside):
        path.write_text('a: 1')
    assert directory.parameter_file('lite0.yaml') == inside.resolve()
    assert directory.parameter_file(str(inside)) == inside.resolve()
    assert directory.parameter_file('proemlc.yaml').parent.name == 'config'
    (directory.path / 'link.yaml').symlink_to(outside)
    os.mkfifo(directory.path / 'pipe.yaml')
    with (directory.path / 'large.yaml').open('wb') as file:
        file.truncate(2_000_000)
    texts = set()
    for name in ('', '.', str(outside), '../outside.yaml', 'link.yaml', 'pipe.yaml', 'large.yaml',
                 '/dev/ptmx', '/etc/shadow', '/nowhere', 'a\0b', '~nobody/x', 'x' * 5000):
        with pytest.raises(ModelDirectoryError) as error:
            directory.parameter_file(name)
        texts.add(str(error.value).partition('is not')[2])
    assert len(texts) == 1  # Nobody learns which files there are.
