# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's figures again, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from proemlc_ros.evaluation.report import Mark, Series, bar_chart, line_chart
from proemlc_ros.experiments.our_runs import Record
from proemlc_ros.experiments.summary import Summary, pick


def learning_curve(records: Sequence[Record], data: str) -> str | None:
    """Return Figure 1 or 2: Hamming loss on the test fold over the stream; None: not measured."""
    shown = [record for record in records if record['data'] == data and record.get('curve')]
    if not shown:
        return None
    series = []
    for record in shown:
        ours = record['variant'] == 'default'
        who = 'ours' if ours else "the paper's formulas"
        x, overall, late = zip(*record['curve'])
        series.append(Series(f'{who}, all labels', x, overall))
        series.append(Series(f'{who}, new labels', x, late))
    marks = [Mark(start, letter) for start, letter in zip(shown[0]['starts'], ascii_uppercase)]
    return line_chart(series, f'{data} {shown[0]["pattern"]}: error while labels are added',
                      'samples learnt', 'Hamming loss', marks)


def comparison_chart(summaries: Sequence[Summary], data: str, measure: str, title: str) -> str:
    """Return Figure 3 for one data set: a measure of all methods."""
    ours = pick(summaries, lambda one: one.data == data and one.variant == 'default')[-1:]
    stock = pick(summaries, lambda one: one.data == data and one.variant == 'stock')
    names = [one.method for one in ours + stock]
    same = {one.method: one for one in pick(
        summaries, lambda one: one.data == data and one.variant == 'same rule')}
    values = [[one.means[measure] for one in ours + stock],
              [same.get(one.method, one).means[measure] for one in ours + stock]]
    return bar_chart(names, values, f'{data}: {title}', title, ['as it is', 'same rule'])


def write_figures(records: Sequence[Record], summaries: Sequence[Summary],
                  folder: Path) -> list[tuple[str, Path]]:
    """Write all figures that there are records for; return their captions and files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []

    def write(name: str, caption: str, svg: str) -> None:
        path = folder / name
        path.write_text(svg, encoding='utf-8')
        written.append((caption, path))

    for data in dict.fromkeys(summary.data for summary in summaries):
        if svg := learning_curve(records, data):
            write(f'{data}-stream.svg', f'Hamming loss over the stream, {data}', svg)
        if pick(summaries, lambda one, data=data: one.data == data and one.variant == 'stock'):
            write(f'{data}-hamming.svg', f'Hamming loss of all methods, {data}',
                  comparison_chart(summaries, data, 'hamming_loss', 'Hamming loss'))
            write(f'{data}-f1.svg', f'F1 by example of all methods, {data}',
                  comparison_chart(summaries, data, 'f1_example', 'F1 by example'))
    return written
