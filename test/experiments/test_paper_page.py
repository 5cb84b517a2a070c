# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The page of results: what is missing, what failed, and which rows come from which run."""

from pathlib import Path

import pytest
from toy_data import make_data, make_records

from proemlc_ros.experiments.experiment import OURS, ExperimentPlan, ExperimentRecords, Task
from proemlc_ros.experiments.page import PageOptions, write_results
from proemlc_ros.experiments.sources import Source
from proemlc_ros.experiments.summary import read_summaries, summarise, write_summaries

pytest.importorskip('matplotlib')
pytest.importorskip('sklearn')

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
