# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How large the package is: within its limits, as the architecture page says, counted rightly."""

import ast
import re
import sys
from functools import cache

from checkout import ROOT

sys.path.insert(0, str(ROOT / 'docs'))

import count

# Modules, code lines, public names. A new idea may need more; then say so here.
# 32,000 lines before the page transferred model files, and views of pictures counted.
LIMITS = (175, 32_100, 915)
# Share by which the code may have grown since the table was written.
LAG = 0.05
SOURCE = '''
"""Text.

More."""
# comment
import x

class A:
    """Text."""

    b: int
    """Of b."""

    def f(self):
        """T."""
        return """
        two"""

def _g():
    pass
'''


@cache
def counted():
    return count.totals(count.count(ROOT / 'proemlc_ros'))


def test_the_package_stays_within_its_limits():
    assert all(number <= limit
               for number, limit in zip(counted(), LIMITS, strict=True)), counted()


def test_the_architecture_page_says_how_large_the_package_is():
    page = count.PAGE.read_text(encoding='utf-8')
    assert count.BEGIN in page and count.END in page
    cells = re.search(r'^\| in all \|(.*)\|$', page, re.MULTILINE)[1].split('|')
    written = [int(cell.replace(',', '')) for cell in cells]
    assert tuple(written[::2]) == tuple(count.totals(count.BEFORE))
    assert all(number <= (1 + LAG) * said for number, said in
               zip(counted(), written[1::2], strict=True)), 'run docs/count.py --write'


def test_what_counts_as_code():
    source = SOURCE.lstrip()
    tree = ast.parse(source)
    assert count.code_lines(source, tree) == 8
    assert count.public_names(tree) == {'A'}
