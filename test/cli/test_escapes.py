# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing that a file holds reaches the terminal as a control character."""

import sqlite3
import unicodedata

import numpy as np
import pytest
from trials import hostile_models

from proemlc_ros.bags.writer import make_bag
from proemlc_ros.cli.main import main
from proemlc_ros.cli.terminal import show, text_table
from proemlc_ros.core import ProEMLC
from proemlc_ros.core.storage import container

EVIL = 'a\x1b[31m\x1b]0;title\x07\x9b2J\r\u202eb'


@pytest.fixture
def model(tmp_path):
    """Return a model file whose label and extractor hold escape sequences."""
    learner = ProEMLC(hidden_size=4, activation='relu', scaling='none')
    learner.learn(np.ones(3), ['cup'])
    header, arrays = container.unpack(learner.to_bytes())
    header['learner']['labels'] = [EVIL]
    header['extra'] = {'extractor': EVIL}
    path = tmp_path / 'model.npz'
    path.write_bytes(hostile_models.sealed(header, arrays))
    return path


@pytest.fixture
def bag(tmp_path):
    """Return a bag whose labels and topics hold escape sequences."""
    samples = [(np.full(3, place, np.float32), (f'{EVIL}{place % 2}',)) for place in range(6)]
    make_bag(tmp_path / 'bag', samples, 'sqlite3')
    path = tmp_path / 'bag' / 'bag.db3'
    database = sqlite3.connect(path)
    database.execute('UPDATE topics SET name = name || ?', (EVIL,))
    database.commit()
    database.close()
    return path


def control_characters(text):
    """Return the characters of a text that could move the cursor or colour the screen."""
    return {character for character in text
            if character != '\n' and unicodedata.category(character)[0] == 'C'}


def test_a_model_is_shown_without_them(model, capsys):
    assert main(['info', str(model)]) == 0
    out = capsys.readouterr().out
    assert 'a\ufffd[31m' in out and not control_characters(out)


@pytest.mark.parametrize('words', [
    ['info'], ['bag', 'info'], ['evaluate', '--features', EVIL]])
def test_a_bag_is_shown_without_them(words, bag, capsys):
    main([*words, str(bag)])
    shown = capsys.readouterr()
    assert '\ufffd[31m' in shown.out + shown.err
    assert not control_characters(shown.out + shown.err)


def test_an_error_that_names_a_file_is_shown_without_them(tmp_path, capsys):
    assert main(['info', str(tmp_path / f'{EVIL}.mcap')]) == 1
    assert not control_characters(capsys.readouterr().err)
    assert main(['info', str(tmp_path / 'bytes\udcff.mcap')]) == 1
    assert not control_characters(capsys.readouterr().err)


def test_tables_stay_aligned(capsys):
    show(text_table(['label', 'n'], [[EVIL, 1], ['cup', 2]]))
    lines = capsys.readouterr().out.splitlines()
    assert len({len(line) for line in lines}) == 1
