# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The README's figures are those of the pages that they come from."""

import re

from pages import ROOT

README = (ROOT / 'README.md').read_text(encoding='utf-8')
SECTION = README.partition('<!-- results -->')[2].partition('<!-- end of results -->')[0]
PROSE = ' '.join(line for line in SECTION.splitlines() if not line.startswith('|'))


def table(page, heading, columns):
    """Return the rows of the first table below a heading that has so many columns."""
    text = (ROOT / 'docs' / page).read_text(encoding='utf-8').partition(f'\n## {heading}')[2]
    rows = [[cell.strip(' *') for cell in line.strip('|').split('|')]
            for line in text.partition('\n## ')[0].splitlines() if line.startswith('|')]
    return [row for row in rows if len(row) == columns and not set(row[0]) == {'-'}]


def results_table():
    """Return the README's table of results, made from docs/results.md."""
    ours = {tuple(row[:2]): row for row in table('results.md', "Today's decision rule", 5)[1:]}
    printed = {tuple(row[:2]): row[2].split(' / ')
               for row in table('results.md', 'Table II:', 8)[1:]}
    lines = ['| data | Hamming loss: paper | default | selected | F1: paper | default '
             '| selected |', '|---|---|---|---|---|---|---|']
    for data in dict.fromkeys(data for data, _ in ours):
        cells = []
        for column, mine in ((0, 2), (1, 3)):
            paper = sorted({values[column] for (name, _), values in printed.items()
                            if name == data.lower()})
            cells += [' to '.join(dict.fromkeys((paper[0], paper[-1]))),
                      ours[data, 'default'][mine], ours[data, 'selected'][mine]]
        lines.append(f'| {data} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines) + '\n'


def numbers(text):
    return re.findall(r'\d+(?:\.\d+)?', re.sub(r'\bF1\b|Corel5k', '', text))


def test_the_table_is_that_of_the_generated_page():
    assert results_table() in SECTION, (
        f'docs/results.md has changed; the table is now:\n{results_table()}')


def test_figures_stand_in_the_table_alone():
    assert numbers(PROSE) == []


def test_the_default_is_better_than_every_streaming_baseline():
    rows = table('benchmarks.md', 'Streaming baselines', 8)[1:]
    ours = [row for row in rows if row[0].startswith('ProEMLC')]
    for row in rows:
        if row not in ours:
            assert float(row[3]) > float(row[4]) and float(row[5]) < float(row[6]), row
    # The larger sizes are better still.
    assert [float(row[3]) for row in ours] == sorted((float(row[3]) for row in ours), reverse=True)
    assert [float(row[5]) for row in ours] == sorted(float(row[5]) for row in ours)
