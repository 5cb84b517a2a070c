# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ARFF files: an error names file, line and value."""

import pytest
from arff_files import DENSE, SPARSE, write

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets import read_dataset


@pytest.mark.parametrize(('damage', 'line', 'word'), [
    (lambda text: text[:63], 4, 'ends before @data'),
    (lambda text: text.replace('7,1,green,1,1', '7,1,gre'), 13, '3 values for 5'),
    (lambda text: text.replace('0.5', 'zero'), 10, "'zero' of 'size' is not a number"),
    (lambda text: text.replace('0.5', '?'), 10, 'missing'),
    (lambda text: text.replace('0.5', 'nan'), 10, 'not finite'),
    (lambda text: text.replace('green,1,1', 'pink,1,1'), 13, "'pink'"),
    (lambda text: text.replace('green,1,1', 'green,1,2'), 13, "'2'"),
    (lambda text: text.replace('size numeric', 'size string'), 4, 'string'),
    (lambda text: text.replace('@attribute size', '@attribute'), 4, 'attribute'),
    (lambda text: text.replace('% between', '{0 1}'), 12, 'sparse and dense'),
    (lambda text: text.partition('0.5')[0], None, 'no rows'),
    (lambda text: 'PK\x03\x04' + text, 1, 'expected @relation'),
])
def test_damaged_dense_arff_names_file_and_line(tmp_path, damage, line, word):
    path = write(tmp_path / 'bad.arff', damage(DENSE))
    with pytest.raises(DataSetError) as caught:
        read_dataset(path)
    where = f':{line}' if line else ''
    assert str(caught.value).startswith(f'{path}{where}: ')
    assert word in str(caught.value)


@pytest.mark.parametrize(('old', 'new', 'word'), [
    ('{0 2.5,2 1}', '{0 2.5,2 1', 'closing brace'),
    ('{0 2.5,2 1}', '{0 2.5,9 1}', 'below 4'),
    ('{0 2.5,2 1}', '{0 2.5,0 1}', 'twice'),
    ('{0 2.5,2 1}', '{0,2 1}', 'attribute number'),
    ('{0 2.5,2 1}', '{0 many,2 1}', "'many'"),
])
def test_damaged_sparse_arff_names_file_and_line(tmp_path, old, new, word):
    path = write(tmp_path / 'bad.arff', SPARSE.replace(old, new))
    with pytest.raises(DataSetError, match=word) as caught:
        read_dataset(path, labels=2)
    assert str(caught.value).startswith(f'{path}:7: ')
