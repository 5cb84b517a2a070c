# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's tables again, as Markdown, with our figures beside its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proemlc_ros.experiments.baselines import MODULES
from proemlc_ros.experiments.datasets import DataSet
from proemlc_ros.experiments.our_runs import Record
from proemlc_ros.experiments.published import TABLE_1, TABLE_2, TABLE_4
from proemlc_ros.experiments.summary import Summary, on_folds, pick

_DIGITS = {'corel5k': 4, 'medical': 4}
_TABLE_2_MEASURES = (('hamming_loss', 'Hamming loss'), ('accuracy', 'accuracy'),
                     ('precision', 'precision'), ('recall', 'recall'), ('f1_paper', 'F1'))

_OUR_OTHERS = ('least errors', 'small')
# Our rows of Table IV: variant, measure, and whether the paper's figure belongs to it.
_OUR_TIMES = {
    'Pro-EMLC, one by one': ('default', 'training_seconds', True),
    'Pro-EMLC, at once': ('default', 'at_once_seconds', False),
    'Pro-EMLC, small, at once': ('small', 'at_once_seconds', False),
}

_AGAIN = {'paper': 'its formulas, run here',
          'paper, late': 'its formulas, labels introduced late',
          'paper, grouped': 'its formulas, labels strictly in turn'}


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ['| ' + ' | '.join(header) + ' |', '|' + '---|' * len(header)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows])


def table_1(sets: Sequence[DataSet]) -> str:
    """Return the characteristics of the data sets, the paper's in brackets."""
    def row(name: str, ours: list[str], paper: list[str]) -> list[str]:
        return [name, *(mine if not theirs else f'{mine} ({theirs})'
                        for mine, theirs in zip(ours, paper, strict=True))]

    known = [TABLE_1.get(data.name) for data in sets]
    return markdown(['', *(data.name for data in sets)], [
        row('features', [str(data.X.shape[1]) for data in sets],
            [str(one.features) if one else '' for one in known]),
        row('samples', [str(len(data)) for data in sets],
            [str(one.samples) if one else '' for one in known]),
        row('labels', [str(data.Y.shape[1]) for data in sets],
            [str(one.labels) if one else '' for one in known]),
        row('label density', [f'{data.density:.4f}' for data in sets],
            [f'{one.density:.3f}' if one else '' for one in known]),
        row('label cardinality', [f'{data.cardinality:.3f}' for data in sets],
            [f'{one.cardinality:.2f}' if one else '' for one in known]),
    ])


def table_2(summaries: Sequence[Summary]) -> str:
    """Return each row with the paper's figures, its formulas run here, and our defaults."""
    rows = []
    for default in pick(summaries, lambda one: one.variant == 'default'):
        paper = TABLE_2.get((default.data, default.pattern))
        if paper is not None:
            rows.append([default.data, default.pattern, 'paper, as printed',
                         *(f'{getattr(paper, name):.3f}' for name, _ in _TABLE_2_MEASURES), '-',
                         f'{paper.training_seconds:.2f}', f'{paper.test_seconds:.3f}'])
        again = pick(summaries, lambda one, default=default: (
            one.data, one.pattern) == (default.data, default.pattern) and one.variant in _AGAIN)
        for what, summary in (*((_AGAIN[one.variant], one) for one in again),
                              ('**our defaults**', default)):
            digits = _DIGITS.get(summary.data, 3)
            rows.append([summary.data, summary.pattern, what, *(
                summary.text(name, digits if name == 'hamming_loss' else 3)
                for name, _ in _TABLE_2_MEASURES), summary.text('f1_example'),
                f'{summary.means["training_seconds"]:.2f}',
                f'{summary.means["test_seconds"]:.3f}'])
    return markdown(['data', 'pattern', 'run', *(title for _, title in _TABLE_2_MEASURES),
                     'F1 by example', 'training s', 'test s'], rows)


def comparison(records: Sequence[Record], summaries: Sequence[Summary], data: str) -> str:
    """Return all methods on one data set, in stock form and with the same decision rule.

    Beside a rival stands what our defaults reach on the very folds that it ran on.
    """
    rows = []
    for variant, title in (('stock', 'as it is'), ('same rule', 'same rule')):
        ours = pick(summaries, lambda one: one.data == data and one.variant == 'default')[-1:]
        ours += pick(summaries, lambda one: one.data == data and one.variant in _OUR_OTHERS)
        rivals = pick(summaries, lambda one, variant=variant: (
            one.data, one.variant) == (data, variant))
        for summary in sorted(ours + rivals, key=lambda one: -one.means['f1_example']):
            digits = _DIGITS.get(data, 3)
            name = f'**{summary.method}**' if summary in ours else summary.method
            if summary.variant in _OUR_OTHERS:
                name += f', {summary.variant}'
            beside = on_folds(records, ours[0], summary.numbers)
            rows.append([title, name, str(summary.folds), summary.text('hamming_loss', digits),
                         summary.text('f1_example'),
                         f'{beside.means["hamming_loss"]:.{digits}f}, '
                         f'{beside.means["f1_example"]:.3f}',
                         *(f'{summary.means[key]:.3f}' for key in (
                             'accuracy', 'precision', 'recall', 'f1_paper')),
                         f'{summary.means["at_once_seconds"]:.2f}',
                         f'{summary.means["training_seconds"]:.2f}' if summary in ours else '-',
                         f'{summary.means["test_seconds"]:.3f}',
                         f'{summary.means["memory_bytes"] / 2**20:.0f}'])
    return markdown(['decision', 'method', 'folds', 'Hamming loss', 'F1 by example',
                     'ours on these folds', 'accuracy', 'precision', 'recall', 'F1', 'training s',
                     'one by one s', 'test s', 'peak MiB'], rows)


def table_3() -> str:
    """Return the methods with their references; needs scikit-learn."""
    from proemlc_ros.experiments.baselines import rival_class
    kinds = [(name, rival_class(name)) for name in MODULES]
    return markdown(['method', 'category', 'reference'],
                    [[name, kind.category, kind.reference] for name, kind in kinds])


def table_4(summaries: Sequence[Summary]) -> str:
    """Return training seconds: measured here, and in brackets the paper's machine."""
    sets = list(dict.fromkeys(summary.data for summary in summaries))
    rows = []
    for name in (*MODULES, *_OUR_TIMES):
        method, printed = (name, True) if name in MODULES else ('Pro-EMLC', _OUR_TIMES[name][2])
        variant, measure, _ = _OUR_TIMES.get(name, ('stock', 'training_seconds', True))
        cells = []
        for data in sets:
            found = pick(summaries, lambda one, data=data, method=method, variant=variant: (
                one.data, one.method, one.variant) == (data, method, variant))
            paper = TABLE_4.get(method, {}).get(data) if printed else None
            here = f'{found[-1].means[measure]:.2f}' if found else '-'
            cells.append(here + (f' ({paper:g})' if paper is not None else ''))
        rows.append([name, *cells])
    return markdown(['training seconds', *sets], rows)
