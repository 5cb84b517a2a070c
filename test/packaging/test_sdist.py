# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The source distribution: what a build needs, and nothing else."""

import sys
import tarfile

import pytest
from checkout import ROOT, copy_checkout, run

BELONGS = {
    'CHANGELOG.rst', 'LICENSE', 'MANIFEST.in', 'PKG-INFO', 'README.md', 'building', 'config',
    'action', 'launch', 'msg', 'package.xml', 'proemlc_ros', 'proemlc_ros.egg-info',
    'pyproject.toml',
    'resource', 'setup.cfg', 'setup.py', 'srv',
}


@pytest.fixture(scope='module')
def names(tmp_path_factory):
    """Return the files of a source distribution, by their paths in it."""
    folder = tmp_path_factory.mktemp('sdist')
    source = copy_checkout(folder / 'source')
    # What a working copy gathers must stay out.
    (source / 'proemlc_ros/core/__pycache__').mkdir(exist_ok=True)
    (source / 'proemlc_ros/core/__pycache__/junk.pyc').write_bytes(b'')
    (source / 'config/notes.pyc').write_bytes(b'')
    run(sys.executable, 'setup.py', '--quiet', 'sdist', '--dist-dir', folder, folder=source)
    archive, = folder.glob('*.tar.gz')
    with tarfile.open(archive) as opened:
        return {member.name.partition('/')[2] for member in opened if member.isfile()}


def test_only_what_belongs_is_in_it(names):
    assert {name.partition('/')[0] for name in names} == BELONGS
    assert not [name for name in names if name.endswith('.pyc') or '__pycache__' in name]


def test_everything_that_a_build_reads_is_in_it(names):
    for folder in ('proemlc_ros', 'building', 'config', 'launch', 'msg', 'srv', 'action',
                   'resource'):
        present = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob('*')
                   if path.is_file() and '__pycache__' not in path.parts
                   and path.suffix != '.so'}  # compiled in place by an editable install
        assert present - names == set()
