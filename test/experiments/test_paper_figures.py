# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The figures: every method is in them, and the same records give the same file."""

import sys

import pytest
from toy_data import make_record, make_records

from proemlc_ros.errors import MissingDependencyError
from proemlc_ros.experiments.figures import check_matplotlib, draw_comparison, write_figures
from proemlc_ros.experiments.summary import summarise


def test_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'proemlc_ros\[experiments\]'"):
        check_matplotlib()


def test_comparison_names_every_method(tmp_path):
    pytest.importorskip('matplotlib')
    path = tmp_path / 'figure.svg'
    draw_comparison(summarise(make_records()), 'scene', 'hamming_loss', 'Hamming loss', path)
    svg = path.read_text()
    for name in ('ours, selected settings', 'ours, default settings', 'CC', 'PCT'):
        assert f'>{name}<' in svg


def test_figures_are_the_same_every_time(tmp_path):
    pytest.importorskip('matplotlib')
    curve = [make_record('Pro-EMLC', variant, 0, 0.1, 0.5, '5+1', starts=[40],
                         curve=[(10, 0.3, 0.2), (50, 0.2, 0.3), (90, 0.1, 0.1)])
             for variant in ('paper', 'default settings', 'selected settings')]
    records = make_records() + curve
    files = []
    for name in ('one', 'two'):
        written = write_figures(records, summarise(records), tmp_path / name)
        assert [path.name for _, path in written] == [
            'scene-stream.svg', 'scene-hamming.svg', 'scene-f1.svg']
        files.append([path.read_bytes() for _, path in written])
    assert files[0] == files[1]
    stream = files[0][0].decode()
    for name in ('ours, selected settings', 'ours, default settings', "the paper's formulas"):
        assert f'>{name}: new labels<' in stream
    assert '<dc:date>' not in stream
