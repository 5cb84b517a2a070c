# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The linters that ROS 2 packages are reviewed with; each runs where it is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.linter
ROOT = Path(__file__).parents[2]
FOLDERS = ('benchmarks', 'building', 'docs', 'launch', 'proemlc_ros', 'test')
# Two of them take minutes; ruff finds the same in a second (pyproject.toml). They read all files
# where ROS 2 is installed, as colcon test does; with wheels enough to try their settings.
WHEELS = '_ROS_WHEELS_BOOTSTRAP_COMPLETE' in os.environ
SLOW_FOLDERS = ('building', 'launch') if WHEELS else FOLDERS
NOT_INSTALLED = '{} is not installed; it comes with ROS 2'


def linter(package):
    """Return the main module of a linter, or skip."""
    return pytest.importorskip(f'{package}.main', reason=NOT_INSTALLED.format(package))


def check(*command):
    """Run a linter in a process of its own: one forked from the tests has their threads' locks."""
    if not shutil.which(command[0]):
        pytest.skip(NOT_INSTALLED.format(command[0]))
    # None of the package's lines run in it, so counting them would only cost time.
    environment = {name: value for name, value in os.environ.items() if not name.startswith('COV')}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_ament_flake8():
    settings = str(Path(__file__).with_name('ament_flake8.ini'))
    check('ament_flake8', '--config', settings, *SLOW_FOLDERS, 'setup.py')


@pytest.mark.slow
def test_ament_pep257():
    # The convention is that of ruff's configuration; ament's wants sections as in NumPy.
    check('ament_pep257', '--convention', 'pep257', '--add-ignore', 'D100', 'D101', 'D102', 'D103',
          'D104', 'D105', 'D106', 'D107', 'D401', 'D402', 'D403', '--', *SLOW_FOLDERS, 'setup.py')


def test_ament_copyright(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    main = linter('ament_copyright')
    from ament_copyright import licenses, parser

    # It knows no SPDX identifiers, so the header that it looks for is given to it.
    ours = licenses.apache2._replace(
        file_headers=['{copyright} SPDX-License-Identifier: Apache-2.0'])
    monkeypatch.setattr(parser, 'get_licenses', lambda: {'apache2': ours})
    code = main.main(argv=[*FOLDERS, 'setup.py', 'CONTRIBUTING.md', 'LICENSE'])
    assert code == 0, capsys.readouterr()


def test_ament_xmllint():
    if not shutil.which('xmllint'):
        pytest.skip('xmllint is not installed; sudo apt install libxml2-utils')
    check('ament_xmllint', 'package.xml', 'config', 'test')
