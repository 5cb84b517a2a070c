# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the parameters of the classifier into docs/node.md and config/proemlc.yaml.

Run:  ./proemlc run python docs/reference.py

Tables and comments are those of proemlc_ros/nodes/classifier_parameters.py; values of the file
stay. test/nodes/test_classifier_docs.py compares them.
"""

import re
import textwrap
from pathlib import Path

from proemlc_ros.nodes import classifier_parameters as parameters

ROOT = Path(__file__).parents[1]
PAGE = ROOT / 'docs/node.md'
FILE = ROOT / 'config/proemlc.yaml'
GROUPS = {
    'Model': parameters.MODEL_PARAMETERS, 'Files and life': parameters.FILE_PARAMETERS,
    'Pictures': parameters.PICTURE_PARAMETERS,
    'Topics': parameters.TOPIC_PARAMETERS, 'Matching': parameters.MATCHING_PARAMETERS,
    'Limits': parameters.LIMIT_PARAMETERS, 'Queries': parameters.QUERY_PARAMETERS,
    'Reports': parameters.REPORT_PARAMETERS,
}


def main():
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(re.sub(r'(?s)(?<=<!-- parameters -->\n).*?(?=### When it asks)',
                           lambda _: parameter_tables(), page), encoding='utf-8')
    text = FILE.read_text(encoding='utf-8')
    for entry in parameters.CLASSIFIER_PARAMETERS:
        text = re.sub(rf'(?<=\n\n)(?: +#.*\n)+(?= +{entry.name}: )',
                      lambda _, entry=entry: f'{comment_of(entry)}\n', text)
    FILE.write_text(text, encoding='utf-8')


def parameter_tables():
    """Return the tables of docs/node.md."""
    lines = []
    for title, group in GROUPS.items():
        lines += ['', f'### {title}', '', '| parameter | default | allowed | run time | meaning |',
                  '|---|---|---|---|---|']
        for entry in group:
            if entry.choices:
                allowed = ', '.join(f'`{choice}`' for choice in entry.choices)
            elif entry.least is not None:
                allowed = f'{entry.least:.10g} to {entry.most:.10g}'
            else:
                allowed = 'true, false' if isinstance(entry.default, bool) else 'any text'
            default = str(entry.default).lower() if isinstance(entry.default, bool) else (
                repr(entry.default) if entry.default != '' else 'empty')
            lines.append(f'| `{entry.name}` | {default} | {allowed} | '
                         f'{"yes" if entry.runtime else "no"} | {entry.description} |')
    return '\n'.join(lines) + '\n\n'


def comment_of(entry):
    """Return the comment above a parameter in config/proemlc.yaml."""
    text = f'{entry.description}.'
    bounds = f'{entry.least or 0:.10g} to {entry.most or 0:.10g}'
    if entry.least is not None and bounds not in text:
        text += f' From {bounds}.'
    if entry.choices:
        text += f' One of {", ".join(entry.choices)}.'
    if entry.runtime:
        text += ' May change at run time.'
    return '\n'.join(textwrap.wrap(
        text, 99, initial_indent='    # ', subsequent_indent='    # ', break_on_hyphens=False))


if __name__ == '__main__':
    main()
