# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The linters that ROS 2 packages are reviewed with; each runs where it is installed."""

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.linter
ROOT = Path(__file__).parents[2]
FOLDERS = ('benchmarks', 'building', 'docs', 'launch', 'proemlc_ros', 'test')
NOT_INSTALLED = '{} is not installed; it comes with ROS 2'


@pytest.fixture(autouse=True)
def in_the_root_folder(monkeypatch):
    monkeypatch.chdir(ROOT)


def linter(package):
    """Return the main module of a linter, or skip."""
    return pytest.importorskip(f'{package}.main', reason=NOT_INSTALLED.format(package))


@pytest.mark.slow
def test_ament_flake8():
    settings = str(Path(__file__).with_name('ament_flake8.ini'))
    code, errors = linter('ament_flake8').main_with_errors(
        argv=['--config', settings, *FOLDERS, 'setup.py'])
    assert code == 0, '\n'.join(errors)


@pytest.mark.slow
def test_ament_pep257(capsys):
    # The convention is that of ruff's configuration; ament's wants sections as in NumPy.
    code = linter('ament_pep257').main(argv=[
        '--convention', 'pep257', '--add-ignore', 'D100', 'D101', 'D102', 'D103', 'D104', 'D105',
        'D106', 'D107', 'D401', 'D402', 'D403', '--', *FOLDERS, 'setup.py'])
    assert code == 0, capsys.readouterr()


def test_ament_copyright(monkeypatch, capsys):
    main = linter('ament_copyright')
    from ament_copyright import licenses, parser

    # It knows no SPDX identifiers, so the header that it looks for is given to it.
    ours = licenses.apache2._replace(
        file_headers=['{copyright} SPDX-License-Identifier: Apache-2.0'])
    monkeypatch.setattr(parser, 'get_licenses', lambda: {'apache2': ours})
    code = main.main(argv=[*FOLDERS, 'setup.py', 'CONTRIBUTING.md', 'LICENSE'])
    assert code == 0, capsys.readouterr()


def test_ament_xmllint(capsys):
    main = linter('ament_xmllint')
    if not shutil.which('xmllint'):
        pytest.skip('xmllint is not installed; sudo apt install libxml2-utils')
    code = main.main(argv=['package.xml', 'config', 'test'])
    assert code == 0, capsys.readouterr()
