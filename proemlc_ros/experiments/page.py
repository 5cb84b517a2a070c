# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what an experiment gave: a page in Markdown, its figures, CSV tables and JSON."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from proemlc_ros.evaluation.tables import DataSet
from proemlc_ros.experiments import result_tables as tables
from proemlc_ros.experiments.experiment import ExperimentRecords
from proemlc_ros.experiments.figures import write_figures
from proemlc_ros.experiments.findings import findings
from proemlc_ros.experiments.runs import STOCK, Record
from proemlc_ros.experiments.summary import (
    Summary,
    add_missing,
    pick,
    read_summaries,
    summarise,
    write_summaries,
)

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
        MissingDependencyError: Matplotlib is not installed.

    """
    kept = read_summaries(options.keep) if options.keep else []
    summaries = add_missing(kept, summarise(results.records, run_text()))
    options.folder.mkdir(parents=True, exist_ok=True)
    page = options.page or options.folder / 'results.md'
    beside = page.parent / 'results'
    beside.mkdir(parents=True, exist_ok=True)
    _write_folds(results.records, options.folder / 'folds.csv')
    (options.folder / 'results.json').write_text(json.dumps(
        {'environment': environment(), 'records': results.records}, indent=1), encoding='utf-8')
    write_summaries(summaries, beside / 'summary.csv')
    figures = write_figures(results.records, summaries, beside)
    parts = _parts(results, summaries, sets, options)
    parts += [f'![{caption}]({path.relative_to(page.parent).as_posix()})'
              for caption, path in figures]
    page.write_text('\n\n'.join(parts) + '\n', encoding='utf-8')
    return page


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
    found = {'date': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
             'Python': platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = 'not installed'
    found['machine'] = f'{_processor()}, {os.cpu_count()} processors, {platform.system()}'
    return found


def run_text() -> str:
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
    names = list(dict.fromkeys(name for record in records for name in record
                               if name not in _LONG))
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, names, extrasaction='ignore')
        writer.writeheader()
        writer.writerows(records)
