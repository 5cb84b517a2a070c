# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The screen in terminals as they are on robots: other locales, and no size."""

import os
import pty
import subprocess
import sys

import pytest

SCRIPT = """
import curses
from proemlc_ros.operator.terminal.screen import Screen, glyphs_of_terminal, set_locale
from proemlc_ros.operator.terminal.text import ASCII

def draw(window):
    screen = Screen(window)
    list(screen.keys())
    screen.draw([[('plain', ''.join((glyphs.full, glyphs.present, glyphs.absent, glyphs.dot)))]])
    return screen.size

set_locale()
glyphs = glyphs_of_terminal()
size = curses.wrapper(draw)
print('ascii' if glyphs is ASCII else 'unicode', 'has', *size)
"""


@pytest.mark.parametrize(('locale', 'expected'), [
    ({'LANG': 'de_DE.UTF-8', 'LC_ALL': 'xx_YY.UTF-8'}, 'unicode'),  # not installed here
    ({'LC_ALL': 'C'}, 'ascii'),
    ({'LC_ALL': 'C.UTF-8'}, 'unicode')])
def test_a_terminal_without_size_and_with_any_locale(locale, expected):
    master, slave = pty.openpty()  # of 0 x 0
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(('LC_', 'LANG', 'LINES', 'COLUMNS'))}
    with subprocess.Popen([sys.executable, '-c', SCRIPT], stdin=slave, stdout=slave,
                          stderr=subprocess.PIPE, env={**environment, 'TERM': 'xterm', **locale}
                          ) as process:
        os.close(slave)
        seen = b''
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            seen += part
        errors = process.stderr.read().decode()
    os.close(master)
    assert process.returncode == 0, errors
    assert f'{expected} has 24 80'.encode() in seen
    assert b'?' not in seen.replace(b'\x1b[?', b'')
