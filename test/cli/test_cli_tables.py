# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""How commands read tables: CSV without the experiments, ARFF with their reader."""

import subprocess
import sys

import pytest

from proemlc_ros.cli.inputs import _label_columns as label_columns
from proemlc_ros.cli.inputs import find_table, read_table
from proemlc_ros.errors import DataSetError

ARFF = '@relation "things -C -1"\n@attribute a numeric\n@attribute cup {0,1}\n@data\n0.5,1\n'


def test_both_kinds_of_files_are_read(tmp_path):
    (tmp_path / 'things.csv').write_text('a,label:cup\n0.5,1\n')
    (tmp_path / 'things.arff').write_text(ARFF)
    for name in ('things.csv', 'things.arff'):
        data = read_table(tmp_path / name)
        assert (data.name, data.label_names, data.X.tolist()) == ('things', ['cup'], [[0.5]])
    (tmp_path / 'things.csv').unlink()
    assert find_table(tmp_path, 'Things').label_names == ['cup']


def test_label_columns_are_a_number_or_names(tmp_path):
    (tmp_path / 'x.csv').write_text('a,b,c\n1,0,1\n')
    assert read_table(tmp_path / 'x.csv', label_columns('2')).label_names == ['b', 'c']
    assert read_table(tmp_path / 'x.csv', label_columns('c, a')).label_names == ['c', 'a']


def test_other_files_are_named(tmp_path):
    with pytest.raises(DataSetError, match='notes.txt: there is no such file'):
        read_table(tmp_path / 'notes.txt')
    (tmp_path / 'notes.txt').write_text('x')
    with pytest.raises(DataSetError, match='notes.txt: not a data set; expected'):
        read_table(tmp_path / 'notes.txt')
    (tmp_path / 'notes.npz').write_text('x')
    with pytest.raises(DataSetError, match='notes.npz: no NumPy archive with arrays X and Y$'):
        read_table(tmp_path / 'notes.npz')


def test_commands_of_the_product_do_not_import_the_experiments():
    script = ('import sys\n'
              'from proemlc_ros.cli import bag, evaluate, train, export, journal\n'
              "print([name for name in sys.modules if 'proemlc_ros.experiments' in name])")
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert done.stdout.strip() == '[]', done.stderr
