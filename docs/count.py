# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Counts modules, code lines and public names of the package, by folder.

Run:  ./proemlc run python docs/count.py            prints the table of docs/architecture.md
      ./proemlc run python docs/count.py --write    writes it there

A module is a .py file other than __init__.py. Code lines have something besides blanks, comments
and docstrings. Public names are classes and functions at the top of a module that do not begin
with an underscore.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs/architecture.md'
BEGIN, END = '<!-- count: docs/count.py --write -->', '<!-- end of count -->'
# Modules, code lines and public names before the modules were joined by idea.
BEFORE = {
    'bags/': (15, 1661, 56),
    'classifier/': (24, 3049, 83),
    'cli/': (21, 1819, 82),
    'core/': (66, 6274, 227),
    'demo/': (11, 839, 50),
    'evaluation/': (19, 1745, 70),
    'experiments/': (20, 1937, 90),
    'features/': (38, 3053, 160),
    'journal/': (12, 2276, 68),
    'nodes/': (43, 3896, 102),
    'operator/': (34, 2863, 114),
    'top': (8, 776, 105),
}
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENCODING, tokenize.ENDMARKER}
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source, tree):
    """Return the number of lines that hold code."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        body = getattr(node, 'body', None)
        if not isinstance(body, list):
            continue
        # Docstrings of modules, classes and functions, and texts below attributes.
        for item in body:
            if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and (
                    isinstance(item.value.value, str)):
                lines.difference_update(range(item.lineno, item.end_lineno + 1))
    return len(lines)


def public_names(tree):
    """Return the names that a module defines for others."""
    return {node.name for node in tree.body if isinstance(node, _DEFINITIONS)
            and not node.name.startswith('_')}


def count(package):
    """Return [modules, code lines, public names] for each folder of a package."""
    found = {}
    for path in sorted(package.rglob('*.py')):
        parts = path.relative_to(package).parts
        row = found.setdefault(f'{parts[0]}/' if len(parts) > 1 else 'top', [0, 0, 0])
        source = path.read_text(encoding='utf-8')
        tree = ast.parse(source)
        row[0] += path.name != '__init__.py'
        row[1] += code_lines(source, tree)
        row[2] += len(public_names(tree))
    return found


def totals(rows):
    """Return the sums of the columns."""
    return [sum(column) for column in zip(*rows.values(), strict=True)]


def table(now):
    """Return the lines of the table, before and now."""
    lines = ['| folder | modules before | now | code lines before | now | public names before '
             '| now |', '|---|---|---|---|---|---|---|']
    rows = {folder: now.get(folder, [0, 0, 0]) for folder in sorted({*BEFORE, *now})}
    for folder, row in [*rows.items(), ('in all', totals(now))]:
        earlier = totals(BEFORE) if folder == 'in all' else BEFORE.get(folder, [0, 0, 0])
        name = folder if folder in ('top', 'in all') else f'`{folder}`'
        lines.append(f'| {name} | ' + ' | '.join(
            f'{a:,} | {b:,}' for a, b in zip(earlier, row, strict=True)) + ' |')
    return '\n'.join(lines)


def page_with(text, counted):
    """Return the page with another table in it."""
    before, _, rest = text.partition(BEGIN)
    return f'{before}{BEGIN}\n\n{counted}\n\n{END}{rest.partition(END)[2]}'


def main():
    counted = table(count(ROOT / 'proemlc_ros'))
    if '--write' in sys.argv[1:]:
        PAGE.write_text(page_with(PAGE.read_text(encoding='utf-8'), counted), encoding='utf-8')
    else:
        print(counted)


if __name__ == '__main__':
    main()
