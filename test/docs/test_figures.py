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
    printed = [row for row in table('results.md', 'Table II', 11) if row[2] == 'paper, as printed']
    lines = ['| data | Hamming loss: paper | default | selected | F1: paper | default '
             '| selected |', '|---|---|---|---|---|---|---|']
    for data in dict.fromkeys(data for data, _ in ours):
        cells = []
        for column, mine in ((3, 2), (7, 3)):
            paper = sorted({row[column] for row in printed if row[0] == data.lower()})
            cells += [' to '.join(dict.fromkeys((paper[0], paper[-1]))),
                      ours[data, 'default'][mine], ours[data, 'selected'][mine]]
        lines.append(f'| {data} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines) + '\n'


def streaming_figures():
    """Return the figures of the sentence on streaming learners, in their order."""
    rows = {row[0]: row for row in table('benchmarks.md', 'Streaming baselines', 8)[1:]}
    faster = {name: row[2].rstrip('x') for name, row in rows.items() if row[2]}
    river = min((value for name, value in faster.items() if name.startswith('river')), key=float)
    others = sorted((value for name, value in faster.items() if not name.startswith('river')),
                    key=float)
    sizes = [re.search(r'(\d+) neurons', name)[1] for name in rows if '(default)' in name]
    return [*sizes, river, others[0], others[-1]]


def numbers(text):
    return re.findall(r'\d+(?:\.\d+)?', re.sub(r'\bF1\b|Corel5k', '', text))


def test_the_table_is_that_of_the_generated_page():
    assert results_table() in SECTION, (
        f'docs/results.md has changed; the table is now:\n{results_table()}')


def test_every_figure_of_the_text_is_on_its_page():
    """No other number may stand in the text: each is checked below, in order."""
    density = table('results.md', 'Table I', 4)[4][-1].split()[0]
    seeds = {row[0].split()[0]: re.findall(r'[\d.]+', row[3])
             for row in table('experiments.md', 'What was tried', 4)[1:]}
    (scene, scene_f1), (medical, medical_f1) = seeds['Scene'], seeds['Medical']
    unused = [f'{float(scene):.3f}', f'{float(medical):.4f}', f'{float(scene_f1):.3f}',
              f'{float(medical_f1):.3f}', f'{float(seeds["Corel5k"][0]):.3f}']
    assert numbers(PROSE) == [density, *unused, *streaming_figures()]


def test_the_default_is_better_than_every_streaming_baseline():
    rows = table('benchmarks.md', 'Streaming baselines', 8)[1:]
    ours = [row for row in rows if row[0].startswith('ProEMLC')]
    for row in rows:
        if row not in ours:
            assert float(row[3]) > float(row[4]) and float(row[5]) < float(row[6]), row
    # The larger sizes are better still.
    assert [float(row[3]) for row in ours] == sorted((float(row[3]) for row in ours), reverse=True)
    assert [float(row[5]) for row in ours] == sorted(float(row[5]) for row in ours)
