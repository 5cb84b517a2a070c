# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Means over the folds, and the tables made of them."""

import math

import pytest
from toy_data import make_record, make_records

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.summary import (
    METRICS,
    add_missing,
    comparison,
    pick,
    read_summaries,
    summarise,
    table_2,
    table_4,
    write_summaries,
)


def test_summaries_are_means_over_folds():
    # A baseline has no time of its own for one batch: it learns in no other way.
    base = dict.fromkeys((name for name in METRICS if name != 'at_once_seconds'), 1.0)
    records = [{**base, 'data': 'toy', 'method': 'x', 'variant': 'stock', 'pattern': '',
                'fold': fold, 'hamming_loss': value} for fold, value in enumerate((0.1, 0.3))]
    summary, = summarise(records)
    assert summary.folds == 2 and summary.means['at_once_seconds'] == 1.0
    assert summary.text('hamming_loss') == '0.200 ± 0.100'


def test_standard_error_is_that_of_the_sample():
    values = (0.1, 0.2, 0.6)
    summary, = summarise([make_record('x', 'stock', fold, value, 0.5)
                          for fold, value in enumerate(values)])
    deviation = math.sqrt(sum((value - 0.3) ** 2 for value in values) / 2)
    assert summary.error('hamming_loss') == pytest.approx(deviation / math.sqrt(3))


def test_on_folds_averages_the_chosen_ones():
    ours = summarise(make_records())[0]
    assert ours.on_folds([1]).means['hamming_loss'] == pytest.approx(0.08)
    assert ours.by_fold('hamming_loss') == {0: 0.06, 1: 0.08}


def test_a_table_is_read_as_it_was_written(tmp_path):
    written = summarise(make_records(), 'Monday with Python; a machine')
    write_summaries(written, tmp_path / 'summary.csv')
    read = read_summaries(tmp_path / 'summary.csv')
    assert [(one.key, one.numbers, one.run) for one in read] == [
        (one.key, one.numbers, one.run) for one in written]
    for one, other in zip(read, written, strict=True):
        assert one.means == pytest.approx(other.means)
        assert one.deviations == pytest.approx(other.deviations)
        # Without records there is nothing to average over fewer folds.
        assert one.by_fold('hamming_loss') == {} and one.on_folds([1]) is one


def test_empty_cells_are_unknown(tmp_path):
    path = tmp_path / 'summary.csv'
    write_summaries(summarise(make_records()[:1]), path)
    path.write_text(path.read_text().replace('0.06,', ',', 1))
    assert math.isnan(read_summaries(path)[0].means['hamming_loss'])


def test_a_run_adds_what_an_earlier_one_lacks():
    earlier = summarise(make_records()[:2], 'Monday')
    today = summarise([dict(one, hamming_loss=0.5) for one in make_records()], 'Tuesday')
    both = add_missing(earlier, today)
    assert [one.run for one in pick(both, 'selected settings')] == ['Monday']
    assert pick(both, 'selected settings')[0].means['hamming_loss'] == pytest.approx(0.07)
    assert {one.run for one in both if one.variant != 'selected settings'} == {'Tuesday'}
    assert len(both) == len(today)


@pytest.mark.parametrize('text', ['', 'a,b\n1,2\n'])
def test_other_files_are_named(tmp_path, text):
    path = tmp_path / 'other.csv'
    if text:
        path.write_text(text)
    with pytest.raises(DataSetError, match='other.csv: not a table of results'):
        read_summaries(path)


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
