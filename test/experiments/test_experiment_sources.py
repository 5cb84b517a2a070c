# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Data sets from OpenML, and what is said when they cannot be had."""

import pytest

from proemlc_ros.errors import DataSetError, MissingDependencyError
from proemlc_ros.experiments.datasets import find_dataset
from proemlc_ros.experiments.sources import fetch_missing, write_table


class Frame:
    """As much of a data frame as fetching needs."""

    def __init__(self, rows, columns):
        self.columns = [f'c{number}' for number in range(columns)]
        self.shape = (rows, columns)

    def itertuples(self, index):
        return iter([tuple(['0.5'] * 294 + ['TRUE', '0', '1', 'FALSE', '0', '0'])
                     for _ in range(self.shape[0])])


def test_fetched_tables_become_data_sets(tmp_path):
    write_table(Frame(2407, 300), 'scene', tmp_path / 'scene.csv')
    data = find_dataset(tmp_path, 'scene')
    assert data.X.shape == (2407, 294) and data.Y[0].tolist() == [True, False, True] + [False] * 3


def test_fetching_says_what_went_wrong(tmp_path, monkeypatch):
    with pytest.raises(DataSetError, match='Mulan'):
        write_table(Frame(10, 300), 'scene', tmp_path / 'scene.csv')
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
