# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""`proemlc sign`, and what `proemlc info` says about signatures."""

import numpy as np
import pytest

from proemlc_ros.cli.main import main
from proemlc_ros.core import ProEMLC


@pytest.fixture
def files(tmp_path):
    """Return a model file, a key file and another one."""
    model = ProEMLC(hidden_size=4, activation='relu', scaling='none')
    model.learn(np.ones(3), ['cup'])
    model.save(tmp_path / 'model.npz')
    for name in ('fleet', 'other'):
        (tmp_path / f'{name}.key').write_text(name * 20)
    return [str(tmp_path / name) for name in ('model.npz', 'fleet.key', 'other.key')]


def test_sign_and_info(files, capsys):
    model, key, other = files

    def shown(*words):
        code = main([*words])
        return code, capsys.readouterr().out

    assert 'bytes, not signed' in shown('info', model)[1]
    assert shown('sign', model, '--key', key) == (0, f'{model}: signed; 1 sample, 1 label\n')
    assert 'signed; give the key to check it' in shown('info', model)[1]
    assert 'signed with this key' in shown('info', model, '--key', key)[1]
    assert 'signed, but not with this key' in shown('info', model, '--key', other)[1]
    assert ProEMLC.load(model).labels == ['cup']


def test_a_wrong_key_file_is_an_error_in_words(files, tmp_path, capsys):
    assert main(['sign', files[0], '--key', str(tmp_path / 'nowhere')]) == 1
    assert 'cannot be read' in capsys.readouterr().err
