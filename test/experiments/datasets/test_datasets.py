# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Data set files: what is read, and what is said about a damaged one."""

import numpy as np
import pytest
from scipy import sparse

from proemlc_ros.errors import DataSetError
from proemlc_ros.experiments.datasets import find_dataset, read_dataset

DENSE = """% a comment
@relation 'things: -C -2'

@attribute size numeric
@attribute 'odd name' {0,1}
@ATTRIBUTE colour {red,green,'deep blue'}
@attribute cup {0,1}
@attribute cat {0,1}
@data
0.5,1,red,1,0
-2e-3,0,'deep blue',0,0
% between
7,1,green,1,1
"""

SPARSE = """@relation things
@attribute a numeric
@attribute b {0,1}
@attribute cup {0,1}
@attribute cat {0,1}
@data
{0 2.5,2 1}
{}
{3 1,1 1}
"""

XML = '<labels xmlns="x"><label name="cup"><label name="cat"/></label></labels>'


def write(path, text):
    path.write_text(text)
    return path


def test_dense_arff_with_meka_label_count_and_words(tmp_path):
    data = read_dataset(write(tmp_path / 'things.arff', DENSE))
    assert data.label_names == ['cup', 'cat']
    assert data.feature_names == [
        'size', 'odd name', 'colour=red', 'colour=green', 'colour=deep blue']
    np.testing.assert_array_equal(
        data.X, [[0.5, 1, 1, 0, 0], [-0.002, 0, 0, 0, 1], [7, 1, 0, 1, 0]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [1, 1]])
    assert data.Y.dtype == bool
    assert data.labels(2) == ['cup', 'cat']
    assert len(data) == 3 and data.cardinality == 1 and data.density == 0.5


def test_sparse_arff_with_xml_beside_it_stays_sparse(tmp_path):
    write(tmp_path / 'things.xml', XML)
    data = read_dataset(write(tmp_path / 'Things-train.arff', SPARSE))
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), [[2.5, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [0, 1]])


@pytest.mark.parametrize('labels', [2, ['cup', 'cat']])
def test_labels_can_be_given(tmp_path, labels):
    data = read_dataset(write(tmp_path / 'x.arff', SPARSE), labels=labels)
    assert data.label_names == ['cup', 'cat']


def test_first_columns_as_labels(tmp_path):
    text = DENSE.replace('@attribute size numeric', '@attribute size {0,1}').replace(
        '0.5,', '1,').replace('-2e-3', '0').replace('7,', '1,')
    assert read_dataset(write(tmp_path / 'x.arff', text), labels=-1).label_names == ['size']


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


def test_errors_about_labels(tmp_path):
    path = write(tmp_path / 'x.arff', SPARSE)
    with pytest.raises(DataSetError, match='which columns are labels'):
        read_dataset(path)
    with pytest.raises(DataSetError, match='dog'):
        read_dataset(path, labels=['dog'])
    with pytest.raises(DataSetError, match='9 label columns'):
        read_dataset(path, labels=9)
    with pytest.raises(DataSetError, match="'a' has the value 2.5"):
        read_dataset(path, labels=['a'])
    write(tmp_path / 'x.xml', '<labels>\n<label name="cup">\n</labels>')
    with pytest.raises(DataSetError, match='x.xml:3'):
        read_dataset(path)
    write(tmp_path / 'x.xml', '<labels/>')
    with pytest.raises(DataSetError, match='names no label'):
        read_dataset(path)


def test_csv_with_label_columns(tmp_path):
    path = write(tmp_path / 'mine.csv', 'a,b,label:cup,label:cat\n1,2,1,0\n3,4.5,no,yes\n')
    data = read_dataset(path)
    assert (data.name, data.label_names) == ('mine', ['cup', 'cat'])
    assert data.feature_names == ['a', 'b']
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4.5]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])


def test_csv_with_names_in_one_column(tmp_path):
    data = read_dataset(write(tmp_path / 'mine.csv', 'a,labels\n1,dog; cat\n2,\n3,cat|cup\n'))
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
        read_dataset(path)
    assert str(caught.value).startswith(f'{path}{where}')
    assert word in str(caught.value)


def test_missing_files(tmp_path):
    for path in ('none.arff', 'none.csv', 'none.txt'):
        with pytest.raises(DataSetError, match='none'):
            read_dataset(tmp_path / path)
    with pytest.raises(DataSetError, match='no data set'):
        find_dataset(tmp_path, 'scene')
    with pytest.raises(DataSetError, match='no such folder'):
        find_dataset(tmp_path / 'gone', 'scene')


def test_train_and_test_files_are_joined(tmp_path):
    (tmp_path / 'Things').mkdir()
    write(tmp_path / 'Things' / 'things.xml', XML)
    write(tmp_path / 'Things' / 'things-train.arff', SPARSE)
    write(tmp_path / 'Things' / 'things-test.arff', SPARSE)
    data = find_dataset(tmp_path, 'THINGS')
    assert data.name == 'things' and len(data) == 6 and sparse.issparse(data.X)
    write(tmp_path / 'Things' / 'things-test.arff', SPARSE.replace(' a ', ' c '))
    with pytest.raises(DataSetError, match='different columns'):
        find_dataset(tmp_path, 'things')


@pytest.mark.parametrize(('name', 'shape', 'labels', 'cardinality'), [
    ('scene', (2407, 294), 6, 1.074),
    ('medical', (978, 1449), 45, 1.245),
    ('corel5k', (5000, 499), 374, 3.522),
])
def test_the_papers_data_sets(shared, name, shape, labels, cardinality):
    data = find_dataset(shared / 'datasets', name)
    assert data.X.shape == shape
    assert data.Y.shape == (shape[0], labels)
    assert data.cardinality == pytest.approx(cardinality, abs=5e-4)
    assert sparse.issparse(data.X) == (name != 'scene')
