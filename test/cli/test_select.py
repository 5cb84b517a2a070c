# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc select`: prints, draws and writes the selected settings."""

import json

import numpy as np
import pytest

from proemlc_ros.cli.main import main
from proemlc_ros.core import ProEMLC


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    X = random.standard_normal((80, 3))
    rows = ['a,b,c,label:up,label:right'] + [
        f'{x[0]},{x[1]},{x[2]},{int(x[0] > 0)},{int(x[1] > 0)}' for x in X]
    path = tmp_path / 'table.csv'
    path.write_text('\n'.join(rows) + '\n')
    return path


def test_selection_is_printed_drawn_and_written(table, tmp_path, capsys):
    picture, settings = tmp_path / 'curve.svg', tmp_path / 'settings.json'
    assert main(['select', str(table), '--sizes', '5,20', '--plot', str(picture),
                 '--json', str(settings)]) == 0
    said = capsys.readouterr().out
    assert '<- chosen' in said and 'chosen: ' in said
    assert picture.read_text().startswith('<svg')
    chosen = json.loads(settings.read_text())
    assert ProEMLC(**chosen).options.hidden_size in (5, 20)


def test_page_instead_of_a_picture(table, tmp_path, capsys):
    page = tmp_path / 'curve.html'
    assert main(['select', str(table), '--sizes', '5', '--samples', '40',
                 '--plot', str(page)]) == 0
    assert '<svg' in page.read_text()
    capsys.readouterr()


@pytest.mark.parametrize(('words', 'message'), [
    (['--sizes', 'many'], 'integers'),
    (['--sizes', '0'], 'at least one'),
    (['--samples', '9999'], '--samples is 9999'),
    (['--labels', 'nobody'], 'nobody'),
])
def test_mistakes_get_one_line(table, words, message, capsys):
    assert main(['select', str(table), *words]) == 1
    said = capsys.readouterr().err
    assert message in said and said.count('\n') == 1
