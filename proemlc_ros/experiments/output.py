# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The results of an experiment as CSV, JSON and a page in Markdown."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from proemlc_ros.experiments import tables
from proemlc_ros.experiments.datasets import DataSet
from proemlc_ros.experiments.figures import write_figures
from proemlc_ros.experiments.our_runs import Record
from proemlc_ros.experiments.reading import reading_of
from proemlc_ros.experiments.summary import Summary, summarise

_LONG = ('curve', 'starts')


def write_output(records: Sequence[Record], sets: Sequence[DataSet], folder: Path,
                 page: Path | None = None, command: str = 'proemlc paper',
                 judged: bool = True, note: str = '') -> Path:
    """Write everything and return the path of the page.

    Args:
        records: What was measured.
        sets: The data sets.
        folder: For CSV, JSON and figures.
        page: The Markdown file; None: results.md in the folder.
        command: The command line that made it, for the page.
        judged: Whether to hold the figures against the paper's and our bars.
        note: What a reader should know about this run, below the title.

    """
    folder.mkdir(parents=True, exist_ok=True)
    summaries = summarise(records)
    _write_csv(records, folder / 'folds.csv')
    (folder / 'results.json').write_text(json.dumps(
        {'environment': environment(), 'records': list(records)}, indent=1), encoding='utf-8')
    page = page or folder / 'results.md'
    page.parent.mkdir(parents=True, exist_ok=True)
    figures = write_figures(records, summaries, page.parent / 'results')
    page.write_text(results_page(records, summaries, sets, figures, page.parent, command,
                                 judged, note),
                    encoding='utf-8')
    return page


def results_page(records: Sequence[Record], summaries: Sequence[Summary],
                 sets: Sequence[DataSet], figures: Sequence[tuple[str, Path]], folder: Path,
                 command: str, judged: bool, note: str = '') -> str:
    """Return the page."""
    parts = ['# Results', _made(command), *filter(None, [_missing(summaries), note]),
             '## Table I: the data sets', tables.table_1(sets),
             'In brackets: what the paper prints.',
             '## Table II: every label introduction pattern',
             tables.table_2(summaries), *reading_of(records, summaries, judged)]
    rivals = [one for one in summaries if one.variant == 'stock']
    if rivals:
        parts += ['## Table III: the methods', tables.table_3()]
        for data in dict.fromkeys(one.data for one in rivals):
            parts += [f'## All methods on {data}', tables.comparison(records, summaries, data)]
        parts += ['## Table IV: training time', tables.table_4(summaries),
                  "In brackets: the paper's, on its authors' machine (its Medical and Corel5k "
                  'columns are swapped there; here they are where they belong).']
    for caption, path in figures:
        parts.append(f'![{caption}]({path.relative_to(folder).as_posix()})')
    return '\n\n'.join(parts) + '\n'


def _missing(summaries: Sequence[Summary]) -> str:
    """Return which rivals have not run on all folds."""
    most = max(one.folds for one in summaries)
    short: dict[str, list[str]] = {}
    for one in summaries:
        if one.variant == 'stock' and one.folds < most:
            short.setdefault(f'{one.folds} of {most} folds of {one.data}', []).append(one.method)
    ran = {(one.data, one.method) for one in summaries}
    rivals = dict.fromkeys(one.method for one in summaries if one.variant == 'stock')
    for data in dict.fromkeys(one.data for one in summaries):
        if gone := [method for method in rivals if (data, method) not in ran]:
            short[f'no fold of {data}'] = gone
    if not short:
        return ''
    return 'Not everything has run. There is ' + '; '.join(
        f'{", ".join(methods)} on {what}' for what, methods in short.items()) + '.'


def environment() -> dict[str, str]:
    """Return date, versions and machine."""
    found = {'date': datetime.now(timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
             'Python': platform.python_version()}
    for name in ('numpy', 'scipy', 'scikit-learn'):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = 'not installed'
    found['machine'] = f'{_processor()}, {os.cpu_count()} processors, {platform.system()}'
    return found


def _made(command: str) -> str:
    facts = environment()
    versions = ', '.join(f'{name} {facts[name]}' for name in (
        'Python', 'numpy', 'scipy', 'scikit-learn'))
    return (f'Made by `{command}` on {facts["date"]} with {versions}; {facts["machine"]}. Figures '
            'are means ± standard deviations over the folds of a cross-validation; times are '
            'processor seconds of one process with one BLAS thread.')


def _processor() -> str:
    try:
        for line in Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def _write_csv(records: Sequence[Record], path: Path) -> None:
    names = list(dict.fromkeys(name for record in records for name in record
                               if name not in _LONG))
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, names, extrasaction='ignore')
        writer.writeheader()
        writer.writerows(records)
