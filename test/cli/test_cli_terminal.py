# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables, curves and progress bars on a terminal."""

import io

import pytest

from proemlc_ros.cli.terminal import ProgressBar, sparkline, text_table


def test_a_bar_is_drawn_and_erased():
    stream = io.StringIO()
    with ProgressBar(200, 'reading', shown=True, stream=stream, interval=0.0) as bar:
        bar.advance(50)
        bar.advance(150)
    drawn = stream.getvalue()
    assert ' 25%' in drawn and '100%' in drawn and 'reading' in drawn
    assert drawn.endswith('\r\x1b[K')


def test_a_bar_without_a_known_end():
    stream = io.StringIO()
    with ProgressBar(0, 'reading', shown=True, stream=stream, interval=0.0) as bar:
        bar.advance(7)
    assert 'reading 7 (' in stream.getvalue()


def test_nothing_is_drawn_where_there_is_no_terminal():
    stream = io.StringIO()
    with ProgressBar(10, 'reading', stream=stream) as bar:
        bar.advance(10)
    assert stream.getvalue() == ''


def test_tables_align_words_and_numbers():
    table = text_table(['label', 'n', 'F1'], [['cup', 5, 0.5], ['コップ', 12, float('nan')]])
    assert table.splitlines() == ['label    n      F1', 'cup      5  0.5000', 'コップ  12       -']


def test_tables_align_combining_letters():
    table = text_table(['label', 'n'], [['cafe\u0301', 1], ['tea', 2]])
    assert table.splitlines() == ['label  n', 'cafe\u0301   1', 'tea    2']


@pytest.mark.parametrize(('values', 'picture'), [
    ([], ''), ([0, 0], '  '), ([1, 1, 4, 4], '▂▂██'), ([0, 2, 4, 4, 8, 8], ' ▂▄▄██')])
def test_sparklines(values, picture):
    assert sparkline(values) == picture


def test_long_curves_are_averaged():
    assert sparkline(list(range(1000)), 10) == ' ▁▂▃▄▅▅▆▇█'
