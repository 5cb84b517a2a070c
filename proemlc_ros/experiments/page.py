# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what an experiment gave: a page in Markdown, its figures, CSV tables and JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from string import ascii_uppercase

from proemlc_ros.evaluation.charts import Mark, Series, bar_chart, line_chart
from proemlc_ros.evaluation.report import today
from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments import summary as tables
from proemlc_ros.experiments.experiment import ExperimentRecords
from proemlc_ros.experiments.findings import findings
from proemlc_ros.experiments.runs import DEFAULT, PAPER_ORDERS, SAME_RULE, SELECTED, STOCK, Record
from proemlc_ros.experiments.summary import (
    OURS_AS,
    Summary,
    add_missing,
    pick,
    read_summaries,
    summarise,
    write_summaries,
)
from proemlc_ros.label_text import csv_text

_LONG = ('curve', 'starts')
_LIBRARIES = ('numpy', 'scipy', 'scikit-learn')


@dataclass(frozen=True)
class PageOptions:
    """How the results are written.

    Attributes:
        folder: For folds.csv and results.json.
        page: The Markdown file; figures and summary.csv go into `results` beside it.
            None: results.md in the folder.
        command: The command that made it, for the page.
        judged: Whether to compare the figures with the paper's and with our bars.
        note: What a reader should know about this run, below the title.
        keep: summary.csv of an earlier run, whose rows stay as they are; this run adds the rows
            that it lacks.
    """

    folder: Path
    page: Path | None = None
    command: str = 'proemlc paper'
    judged: bool = True
    note: str = ''
    keep: Path | None = None


def write_results(results: ExperimentRecords, sets: Sequence[DataSet],
                  options: PageOptions) -> Path:
    """Write everything and return the path of the page.

    Raises:
        DataSetError: The summary of the earlier run cannot be read.
    """
    kept = read_summaries(options.keep) if options.keep else []
    summaries = add_missing(kept, summarise(results.records, _run_text()))
    options.folder.mkdir(parents=True, exist_ok=True)
    page = options.page or options.folder / 'results.md'
    beside = page.parent / 'results'
    beside.mkdir(parents=True, exist_ok=True)
    _write_folds(results.records, options.folder / 'folds.csv')
    (options.folder / 'results.json').write_text(json.dumps(
        {'environment': environment(), 'records': results.records}, indent=1), encoding='utf-8')
    write_summaries(summaries, beside / 'summary.csv')
    figures = _write_figures(results.records, summaries, beside)
    parts = _parts(results, summaries, sets, options)
    parts += [f'![{caption}]({path.relative_to(page.parent).as_posix()})'
              for caption, path in figures]
    page.write_text('\n\n'.join(parts) + '\n', encoding='utf-8')
    return page


def _draw_stream(records: Sequence[Record], data: str) -> str:
    """Draw Figure 1 or 2: Hamming loss on the test fold while labels are added.

    Returns:
        The picture as SVG text; empty where no record has a curve.
    """
    shown = {record['variant']: record for record in records
             if record['data'] == data and record.get('curve')}
    if not shown:
        return ''
    series = []
    for variant in (SELECTED, DEFAULT, PAPER_ORDERS[0]):
        if variant in shown:
            name = OURS_AS.get(variant, "the paper's formulas")
            samples, overall, late = zip(*shown[variant]['curve'])
            series += [Series(f'{name}: all labels', samples, overall),
                       Series(f'{name}: new labels', samples, late, dashed=True)]
    record = shown.get(SELECTED, next(iter(shown.values())))
    return line_chart(
        series, f'{data} {record["pattern"]}: test error while labels are added',
        'samples learnt (letters: our stream introduces a group of labels)', 'Hamming loss',
        [Mark(start, letter) for start, letter in zip(record['starts'], ascii_uppercase)])


def _draw_comparison(summaries: Sequence[Summary], data: str, metric: str, title: str) -> str:
    """Draw Figure 3 for one data set: a metric of all methods."""
    ours = [one for variant in (SELECTED, DEFAULT)
            for one in pick(summaries, variant, data=data)[-1:]]
    stock = pick(summaries, STOCK, data=data)
    same = {one.method: one for one in pick(summaries, SAME_RULE, data=data)}
    ruled = [*ours, *(same.get(one.method, one) for one in stock)]
    return bar_chart(
        [*(OURS_AS[one.variant] for one in ours), *(one.method for one in stock)],
        [[one.means[metric] for one in ruled], [one.means[metric] for one in ours + stock]],
        f'{data}: {title}', title, ['our decision rule', 'own decision rule'])


def _write_figures(records: Sequence[Record], summaries: Sequence[Summary],
                   folder: Path) -> list[tuple[str, Path]]:
    """Write all figures that there are records for; return their captions and files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for data in dict.fromkeys(summary.data for summary in summaries):
        figures = [('stream', f'Hamming loss over the stream, {data}',
                    _draw_stream(records, data))]
        if pick(summaries, STOCK, data=data):
            figures += [
                (name, f'{title} of all methods, {data}',
                 _draw_comparison(summaries, data, metric, title))
                for name, metric, title in (('hamming', 'hamming_loss', 'Hamming loss'),
                                            ('f1', 'f1_example', 'example-based F1'))]
        for name, caption, svg in figures:
            if svg:
                path = folder / f'{data}-{name}.svg'
                path.write_text(svg + '\n', encoding='utf-8')
                written.append((caption, path))
    return written


def _parts(results: ExperimentRecords, summaries: Sequence[Summary], sets: Sequence[DataSet],
           options: PageOptions) -> list[str]:
    parts = ['# Results', _made(summaries, options.command),
             *filter(None, [_missing(summaries), _failed(results), options.note]),
             '## Table I: the data sets', tables.table_1(sets),
             'In brackets: what the paper prints.',
             '## Table II: every label introduction pattern', tables.table_2(summaries),
             *findings(results.records, summaries, options.judged)]
    if baselines := pick(summaries, STOCK):
        parts += ['## Table III: the baselines', tables.table_3()]
        for data in dict.fromkeys(one.data for one in baselines):
            parts += [f'## All methods on {data}', tables.comparison(summaries, data)]
        parts += ['## Table IV: training time', tables.table_4(summaries),
                  "In brackets: the paper's, on its authors' machine (its Medical and Corel5k "
                  'columns are swapped there; here they are where they belong).']
    return parts


def _made(summaries: Sequence[Summary], command: str) -> str:
    """Return where the figures come from: the run, or each run with its rows."""
    runs = dict.fromkeys(one.run for one in summaries)
    figures = ('Figures are means ± standard deviations over the folds of a cross-validation; '
               'times are processor seconds of one process with one BLAS thread.')
    if len(runs) == 1:
        return f'Made by `{command}` on {next(iter(runs))}. {figures}'
    lines = [f'Made by `{command}` from the tables of {len(runs)} runs. {figures} Times of '
             f'different runs say nothing about each other; those with {tables.OTHER_RUN} are '
             'not of the first run.', '']
    for number, run in enumerate(runs):
        rows: dict[str, list[str]] = {}
        for one in summaries:
            if one.run == run:
                rows.setdefault(tables.row_name(one), []).append(one.data)
        names = [f'{name} ({", ".join(dict.fromkeys(sets))})' for name, sets in rows.items()]
        lines.append(f'- {run}: ' + ('all rows except those of the runs below' if not number
                                     else ', '.join(names)))
    return '\n'.join(lines)


def _missing(summaries: Sequence[Summary]) -> str:
    """Return which baselines have not run on all folds."""
    most = max(one.folds for one in summaries)
    short: dict[str, list[str]] = {}
    for one in pick(summaries, STOCK):
        if one.folds < most:
            short.setdefault(f'{one.folds} of {most} folds of {one.data}', []).append(one.method)
    ran = {(one.data, one.method) for one in summaries}
    baselines = dict.fromkeys(one.method for one in pick(summaries, STOCK))
    for data in dict.fromkeys(one.data for one in summaries):
        if gone := [method for method in baselines if (data, method) not in ran]:
            short[f'no fold of {data}'] = gone
    if not short:
        return ''
    return 'Not everything has run. There is ' + '; '.join(
        f'{", ".join(methods)} on {what}' for what, methods in short.items()) + '.'


def _failed(results: ExperimentRecords) -> str:
    if not results.failures:
        return ''
    return 'Runs that failed:\n\n' + tables.markdown(
        ['method', 'data', 'fold', 'error'],
        [[task.method, task.source.name, str(task.fold), error.replace('|', '/')]
         for task, error in results.failures.items()])


def environment() -> dict[str, str]:
    """Return date, versions and machine."""
    found = {'date': today(), 'Python': platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = 'not installed'
    found['machine'] = f'{_processor()}, {os.cpu_count()} processors, {platform.system()}'
    return found


def _run_text() -> str:
    """Return date, versions and machine in one line, by which a run is known."""
    facts = environment()
    versions = ', '.join(f'{name} {facts[name]}' for name in ('Python', *_LIBRARIES))
    return f'{facts["date"]} with {versions}; {facts["machine"]}'


def _processor() -> str:
    try:
        for line in Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def _write_folds(records: Sequence[Record], path: Path) -> None:
    names = list(dict.fromkeys(name for record in records for name in record if name not in _LONG))
    path.write_text(csv_text([names, *(
        [record.get(name, '') for name in names] for record in records)]), encoding='utf-8')
