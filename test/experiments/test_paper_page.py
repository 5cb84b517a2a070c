# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page of an experiment and its figures: every method is in them."""

import html
from pathlib import Path

import pytest

pytest.importorskip('sklearn')

from toy_data import make_data, make_record, make_records

from proemlc_ros.experiments.datasets import Source
from proemlc_ros.experiments.experiment import OURS, ExperimentPlan, ExperimentRecords, Task
from proemlc_ros.experiments.page import (
    PageOptions,
    _draw_comparison,
    _write_figures,
    write_results,
)
from proemlc_ros.experiments.summary import read_summaries, summarise, write_summaries

EARLIER = '2020-01-01 00:00 UTC with Python 3.10; a slow machine'


def write(folder, records, failures=None, **options):
    page = write_results(ExperimentRecords(records, failures or {}), [make_data()],
                         PageOptions(folder, **options))
    return page.read_text()


def test_rows_of_an_earlier_run_stay_and_are_told_apart(tmp_path):
    """The earlier run has everything except the default settings."""
    records = make_records()
    old = [one for one in records if one['variant'] != 'default settings']
    write_summaries(summarise(old, EARLIER), tmp_path / 'earlier.csv')
    again = [dict(one, hamming_loss=0.5) if one['method'] == OURS and one[
        'variant'] != 'default settings' else one for one in records]
    page = write(tmp_path, again, keep=tmp_path / 'earlier.csv')
    assert f'- {EARLIER}: all rows except those of the runs below' in page
    assert ': ours, default settings (scene)\n' in page
    assert '| **ours, selected settings** | 0.070 ± 0.010 |' in page
    assert '| **ours, default settings** | 0.080 ± 0.010 |' in page
    assert '0.50† |' in page
    # The table beside the page can be kept in its turn.
    kept = read_summaries(tmp_path / 'results/summary.csv')
    assert len(kept) == len(summarise(records)) and len({one.run for one in kept}) == 2


def test_one_run_is_named_in_one_line(tmp_path):
    page = write(tmp_path, make_records(), note='On a train.')
    assert 'Made by `proemlc paper` on 2' in page and '†' not in page
    assert '\n\nOn a train.\n\n' in page


def test_failed_runs_are_in_a_table(tmp_path):
    plan = ExperimentPlan((Source('scene', Path('scene.csv'), ('5+1',)),), (OURS, 'CC'))
    task = Task(plan, plan.sources[0], 'CC', 3)
    page = write(tmp_path, make_records(), {task: 'ValueError: a | b'})
    assert '| method | data | fold | error |' in page
    assert '| CC | scene | 3 | ValueError: a / b |' in page


def test_comparison_names_every_method():
    svg = _draw_comparison(summarise(make_records()), 'scene', 'hamming_loss', 'Hamming loss')
    for name in ('ours, selected settings', 'ours, default settings', 'CC', 'PCT'):
        assert f'>{name}<' in svg


def test_figures_are_the_same_every_time(tmp_path):
    curve = [make_record('Pro-EMLC', variant, 0, 0.1, 0.5, '5+1', starts=[40],
                         curve=[(10, 0.3, 0.2), (50, 0.2, 0.3), (90, 0.1, 0.1)])
             for variant in ('paper', 'default settings', 'selected settings')]
    records = make_records() + curve
    files = []
    for name in ('one', 'two'):
        written = _write_figures(records, summarise(records), tmp_path / name)
        assert [path.name for _, path in written] == [
            'scene-stream.svg', 'scene-hamming.svg', 'scene-f1.svg']
        files.append([path.read_bytes() for _, path in written])
    assert files[0] == files[1]
    stream = html.unescape(files[0][0].decode())
    for name in ('ours, selected settings', 'ours, default settings', "the paper's formulas"):
        assert f'>{name}: new labels<' in stream
