# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Data sets of the literature: Mulan and MEKA files, CSV files, OpenML."""

import numpy as np
import pytest
from arff_files import DENSE, SPARSE, XML, write
from scipy import sparse

from proemlc_ros.errors import DataSetError, MissingDependencyError
from proemlc_ros.experiments.datasets import (
    _write_table,
    fetch_missing,
    find_dataset,
    read_dataset,
)


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


class Frame:
    """As much of a data frame as fetching needs."""

    def __init__(self, rows, columns):
        self.columns = [f'c{number}' for number in range(columns)]
        self.shape = (rows, columns)

    def itertuples(self, index):
        return iter([tuple(['0.5'] * 294 + ['TRUE', '0', '1', 'FALSE', '0', '0'])
                     for _ in range(self.shape[0])])


def test_fetched_tables_become_data_sets(tmp_path):
    _write_table(Frame(2407, 300), 'scene', tmp_path / 'scene.csv')
    data = find_dataset(tmp_path, 'scene')
    assert data.X.shape == (2407, 294) and data.Y[0].tolist() == [True, False, True] + [False] * 3


def test_fetching_says_what_went_wrong(tmp_path, monkeypatch):
    with pytest.raises(DataSetError, match='Mulan'):
        _write_table(Frame(10, 300), 'scene', tmp_path / 'scene.csv')
    datasets = pytest.importorskip('sklearn.datasets')

    def fail(**_):
        raise OSError('no network')

    monkeypatch.setattr(datasets, 'fetch_openml', fail)
    with pytest.raises(DataSetError, match='cannot be fetched from OpenML .no network.; get its'):
        fetch_missing(tmp_path, ['scene'], lambda text: None)


def test_fetching_names_the_extra_that_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'sklearn.datasets', None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'proemlc_ros\[experiments\]'"):
        fetch_missing(tmp_path, ['scene'], lambda text: None)
