# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables show means, deviations and folds, and call our rows what they are."""

import pytest
from toy_data import make_records

from proemlc_ros.experiments.result_tables import comparison, table_2, table_4
from proemlc_ros.experiments.summary import summarise


@pytest.fixture
def summaries():
    return summarise(make_records())


def test_table_2_has_both_of_our_rows(summaries):
    table = table_2(summaries)
    assert '| scene | 5+1 | paper, as printed | 0.104 |' in table
    assert '| scene | 5+1 | **ours, default settings** | 0.080 ± 0.010 |' in table
    assert '| scene | 5+1 | **ours, selected settings** | 0.070 ± 0.010 |' in table


def test_comparison_has_ours_on_the_folds_of_each_baseline(summaries):
    table = comparison(summaries, 'scene')
    assert '| own | CC | 1 | 0.075 ± 0.000 | 0.700 ± 0.000 | 0.080, 0.800 |' in table
    assert table.count('| **ours, selected settings** | 2 |') == 2
    assert table.count('| **ours, default settings** | 2 |') == 2


def test_table_4_has_the_papers_seconds_in_brackets(summaries):
    table = table_4(summaries)
    assert '| CC | 0.50 (99) |' in table
    assert '| ours, selected settings, one by one | 0.50 (2.266) |' in table
    assert '| ours, default settings, one by one | 0.50 |' in table
    assert '| ours, small, in one batch | - |' in table


def test_times_of_another_run_are_marked():
    records = make_records()
    both = [*summarise(records[:2], 'Monday'), *summarise(records[2:4], 'Tuesday')]
    table = table_4(both)
    assert '| ours, selected settings, one by one | 0.50 (2.266) |' in table
    assert '| ours, default settings, one by one | 0.50† |' in table
    assert table_2(both).count('†') == 2
