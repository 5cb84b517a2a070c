# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""CSV tables: what is read, and what is said about a damaged one."""

import numpy as np
import pytest

from proemlc_ros.errors import DataSetError
from proemlc_ros.evaluation.tables import read_csv


def write(path, text):
    path.write_text(text)
    return path


def test_csv_with_label_columns(tmp_path):
    path = write(tmp_path / 'mine.csv', 'a,b,label:cup,label:cat\n1,2,1,0\n3,4.5,no,yes\n')
    data = read_csv(path)
    assert (data.name, data.label_names) == ('mine', ['cup', 'cat'])
    assert data.feature_names == ['a', 'b']
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])


def test_csv_with_names_in_one_column(tmp_path):
    data = read_csv(write(tmp_path / 'mine.csv', 'a,labels\n1,dog; cat\n2,\n3,cat|cup\n'))
    assert data.label_names == ['dog', 'cat', 'cup']
    np.testing.assert_array_equal(data.Y, [[1, 1, 0], [0, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize(('text', 'where', 'word'), [
    ('a,label:x\n1,0\n1\n', ':3: ', '1 values for 2'),
    ('a,label:x\none,0\n', ':2: ', "'one' is not a number"),
    ('a,label:x\ninf,0\n', ':2: ', 'not finite'),
    ('a,label:x\n1,maybe\n', ':2: ', "'maybe' is neither"),
    ('a,a\n1,2\n', ':1: ', 'same name'),
    ('a,b\n', ': ', 'at least one sample'),
    ('a,b\n1,2\n', ': ', 'which columns are labels'),
    ('label:x\n1\n', ': ', 'no features'),
    ('a,labels\n1,\n', ': ', 'no label at all'),
])
def test_damaged_csv(tmp_path, text, where, word):
    path = write(tmp_path / 'bad.csv', text)
    with pytest.raises(DataSetError) as caught:
        read_csv(path)
    assert str(caught.value).startswith(f'{path}{where}')
    assert word in str(caught.value)


@pytest.mark.parametrize(('labels', 'names'), [(1, ['y']), (-1, ['a']), (['x', 'a'], ['x', 'a'])])
def test_label_columns_can_be_given(tmp_path, labels, names):
    data = read_csv(write(tmp_path / 'mine.csv', 'a,x,y\n1,0,1\n0,1,1\n'), labels)
    assert data.label_names == names


def test_missing_file_is_named(tmp_path):
    with pytest.raises(DataSetError, match='none.csv: cannot be read'):
        read_csv(tmp_path / 'none.csv')


def test_a_subset_keeps_names_and_order(tmp_path):
    data = read_csv(write(tmp_path / 'mine.csv', 'a,labels\n1,cup\n2,cat\n3,cup;cat\n'))
    part = data.subset([2, 0])
    assert (part.name, part.X.tolist()) == ('mine', [[3.0], [1.0]])
    assert part.labels(0) == ['cup', 'cat'] and part.labels(1) == ['cup']
    assert data.cardinality == pytest.approx(4 / 3) and data.density == pytest.approx(2 / 3)
