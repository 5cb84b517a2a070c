# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A machine on which `./proemlc` sets up in moments.

The steps themselves are long and are shown by every real use; here a stand-in for the Python
interpreter writes down what it is asked to do, so that the order of steps, the repairs and the
error messages can be tested.
"""

import re
import shutil
import subprocess
from pathlib import Path

from checkout import ROOT

TOOLS = ('awk', 'bash', 'cat', 'dirname', 'env', 'flock', 'grep', 'ln', 'ls', 'mkdir', 'mv',
         'readlink', 'rm', 'sha256sum', 'tail', 'touch', 'uname')
MACHINE = ('c++', 'make', 'cmake')

# Does what ./proemlc needs of Python and logs the rest; FAIL names a step that fails, HOLD a named
# pipe for whose writer the installation of packages waits.
STAND_IN = """#!/bin/bash
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" "$3/share/proemlc_ros" && cp_self="$3/bin/python" &&
    cat "$0" > "$cp_self" && /bin/chmod +x "$cp_self" ;;
  "-m pip install"*/1/jazzy.txt) [ -z "$HOLD" ] || cat "$HOLD" ;;
  --version) echo Python 3.12.0; exit ;;
  -c*) exit 0 ;;
esac
echo "$*" >> "$CALLS"
if [ -n "$FAIL" ] && [[ "$*" == *"$FAIL"* ]]; then echo "$MESSAGE"; exit 1; fi
"""


class Machine:
    """A folder with a copy of the checkout and a PATH that holds just what it is told to."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / 'a checkout'  # with a space, as folders have them
        self.tools = folder / 'tools'
        self.calls = folder / 'calls'
        self.tools.mkdir()
        for name in (*TOOLS, *MACHINE):
            (self.tools / name).symlink_to(shutil.which(name))
        self.provide('python3', STAND_IN)
        self.checkout.mkdir()
        for name in ('environment', 'requirements', 'msg', 'srv', 'action', 'building', 'launch'):
            shutil.copytree(ROOT / name, self.checkout / name)
        for name in ('proemlc', 'setup.py', 'setup.cfg', 'package.xml'):
            shutil.copy(ROOT / name, self.checkout)

    def provide(self, name: str, script: str) -> None:
        """Put a program on the PATH."""
        (self.tools / name).unlink(missing_ok=True)
        (self.tools / name).write_text(script)
        (self.tools / name).chmod(0o755)

    def environment(self, **variables: str) -> dict[str, str]:
        """Return all variables that the launcher sees."""
        return {'PATH': str(self.tools), 'HOME': str(self.calls.parent),
                'CALLS': str(self.calls), **variables}

    def proemlc(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        """Run ./proemlc to its end."""
        return subprocess.run([str(self.checkout / 'proemlc'), *words], text=True,
                              env=self.environment(**variables), capture_output=True)

    def steps(self) -> list[str]:
        """Return what was done since the last call, one word per step.

        Of the two processes that install a lock file, the one that every file has stands for both.
        """
        calls = self.calls.read_text() if self.calls.exists() else ''
        self.calls.unlink(missing_ok=True)
        return [re.search(r'(?<=-m )venv|(?<=/)\w+(?=\.txt)|--editable', line)[0]
                for line in calls.splitlines() if '/parts/0/' not in line]
