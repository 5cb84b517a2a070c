# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of the checkout, for builds that must not touch it."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What no clone would have.
LEFT_OUT = shutil.ignore_patterns('.git', '.venv*', 'build', 'install', 'log', '__pycache__',
                                  '*.so', '*.egg-info', '.*_cache', '.hypothesis', 'test',
                                  '.coverage*')


def copy_checkout(target: Path) -> Path:
    """Copy what a build needs into a new folder and return the folder."""
    return Path(shutil.copytree(ROOT, target, ignore=LEFT_OUT))


def run(*command: object, folder: Path | None = None, **variables: str) -> str:
    """Run a command, with more variables than the test's own; return what it prints."""
    # Builds are tried out, not used for long: the compiler need not optimise.
    environment = {**os.environ, 'CMAKE_BUILD_TYPE': 'None', **variables}
    # The coverage of the test process has no place in builds.
    environment.pop('COVERAGE_PROCESS_CONFIG', None)
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f'{command}\n{done.stdout}'
    return done.stdout
