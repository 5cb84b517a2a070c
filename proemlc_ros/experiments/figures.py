# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's figures, drawn by Matplotlib: errors over the stream, and all methods compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from proemlc_ros.errors import MissingDependencyError
from proemlc_ros.experiments.result_tables import OURS_AS
from proemlc_ros.experiments.runs import DEFAULT, SAME_RULE, SELECTED, STOCK, Record
from proemlc_ros.experiments.summary import Summary, pick

# The same data give the same file: Matplotlib's identifiers are random and it adds the date.
_STYLE: Any = {
    'svg.hashsalt': 'proemlc', 'svg.fonttype': 'none', 'font.size': 9.0,
    'axes.spines.top': False, 'axes.spines.right': False, 'axes.grid': True,
    'axes.axisbelow': True, 'grid.color': '#dddddd', 'grid.linewidth': 0.6}
_METADATA = {'Date': None, 'Creator': None}
# Colours that people with any colour vision can tell apart (Okabe and Ito).
_COLOURS = {'paper': '#d55e00', DEFAULT: '#56b4e9', SELECTED: '#0072b2'}
_RULES = {'own decision rule': '#999999', 'our decision rule': '#0072b2'}


def check_matplotlib() -> None:
    """Raise MissingDependencyError where Matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "the figures need Matplotlib; install it with: pip install 'proemlc_ros[experiments]'"
        ) from error


def draw_stream(records: Sequence[Record], data: str, path: Path) -> bool:
    """Draw Figure 1 or 2: Hamming loss on the test fold while labels are added.

    Returns:
        Whether there were records with a curve.

    """
    shown = {record['variant']: record for record in records
             if record['data'] == data and record.get('curve')}
    if not shown:
        return False

    def draw(axes: Any) -> None:
        for variant, colour in _COLOURS.items():
            if variant not in shown:
                continue
            name = OURS_AS.get(variant, "the paper's formulas")
            samples, overall, late = zip(*shown[variant]['curve'])
            axes.plot(samples, overall, color=colour, label=f'{name}: all labels')
            axes.plot(samples, late, color=colour, linestyle='--', label=f'{name}: new labels')
        record = shown.get(SELECTED, next(iter(shown.values())))
        for start, letter in zip(record['starts'], ascii_uppercase):
            axes.axvline(start, color='#777777', linewidth=0.8, linestyle=':')
            axes.text(start, 1.0, letter, transform=axes.get_xaxis_transform(), ha='center',
                      va='bottom')
        axes.set(xlabel='samples learnt (letters: our stream introduces a group of labels)',
                 ylabel='Hamming loss', ylim=(0.0, None))
        axes.set_title(f'{data} {record["pattern"]}: test error while labels are added', pad=16)
        axes.legend(fontsize='small')

    _draw(draw, (7.2, 4.2), path)
    return True


def draw_comparison(summaries: Sequence[Summary], data: str, metric: str, title: str,
                    path: Path) -> None:
    """Draw Figure 3 for one data set: a metric of all methods."""
    ours = [one for variant in (SELECTED, DEFAULT)
            for one in pick(summaries, variant, data=data)[-1:]]
    stock = pick(summaries, STOCK, data=data)
    same = {one.method: one for one in pick(summaries, SAME_RULE, data=data)}
    names = [*(OURS_AS[one.variant] for one in ours), *(one.method for one in stock)]
    bars = ([one.means[metric] for one in ours + stock],
            [one.means[metric] for one in [*ours, *(same.get(one.method, one) for one in stock)]])

    def draw(axes: Any) -> None:
        places = np.arange(len(names), dtype=float)
        for offset, values, (rule, colour) in zip((-0.2, 0.2), bars, _RULES.items(), strict=True):
            axes.barh(places + offset, values, height=0.38, color=colour, label=rule)
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.grid(visible=False, axis='y')
        axes.set(xlabel=title, title=f'{data}: {title}')
        axes.legend(fontsize='small')

    _draw(draw, (7.2, 0.36 * len(names) + 1.2), path)


def write_figures(records: Sequence[Record], summaries: Sequence[Summary],
                  folder: Path) -> list[tuple[str, Path]]:
    """Write all figures that there are records for; return their captions and files.

    Raises:
        MissingDependencyError: Matplotlib is not installed.

    """
    check_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for data in dict.fromkeys(summary.data for summary in summaries):
        path = folder / f'{data}-stream.svg'
        if draw_stream(records, data, path):
            written.append((f'Hamming loss over the stream, {data}', path))
        if pick(summaries, STOCK, data=data):
            for name, metric, title in (('hamming', 'hamming_loss', 'Hamming loss'),
                                        ('f1', 'f1_example', 'example-based F1')):
                path = folder / f'{data}-{name}.svg'
                draw_comparison(summaries, data, metric, title, path)
                written.append((f'{title} of all methods, {data}', path))
    return written


def _draw(draw: Callable[[Any], None], inches: tuple[float, float], path: Path) -> None:
    # Without pyplot: no window, no state that is left behind.
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    with rc_context(_STYLE):
        figure = Figure(figsize=inches, layout='tight')
        draw(figure.subplots())
        figure.savefig(path, format='svg', metadata=_METADATA)
