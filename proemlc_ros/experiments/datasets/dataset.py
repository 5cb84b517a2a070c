# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A multi-label data set in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from proemlc_ros.errors import DataSetError


@dataclass(frozen=True)
class DataSet:
    """Samples with their labels.

    Attributes:
        name: Short name, such as 'scene'.
        X: Features, one row a sample: float64, dense or CSR as the file had them.
        Y: Boolean label indicators, one row a sample, one column a label.
        label_names: Names of the columns of Y.
        feature_names: Names of the columns of X.

    """

    name: str
    X: np.ndarray | sparse.csr_matrix
    Y: np.ndarray
    label_names: list[str]
    feature_names: list[str]

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self.Y.shape[0])

    @property
    def cardinality(self) -> float:
        """Mean number of labels a sample."""
        return float(self.Y.sum(axis=1).mean())

    @property
    def density(self) -> float:
        """Cardinality as a part of the number of labels."""
        return self.cardinality / max(1, len(self.label_names))

    def labels(self, row: int) -> list[str]:
        """Return the names of the labels of one sample."""
        return [self.label_names[column] for column in np.flatnonzero(self.Y[row])]

    def subset(self, rows: Sequence[int] | np.ndarray) -> DataSet:
        """Return the data set of the given rows, in their order."""
        return DataSet(
            self.name, self.X[rows], self.Y[rows], self.label_names, self.feature_names
        )


def concatenate(first: DataSet, second: DataSet, name: str) -> DataSet:
    """Put two parts of one data set behind each other.

    Raises:
        DataSetError: Their features or labels differ.

    """
    if first.feature_names != second.feature_names or first.label_names != second.label_names:
        raise DataSetError(
            f'the parts {first.name!r} and {second.name!r} have different columns; '
            'they cannot be parts of one data set'
        )
    if sparse.issparse(first.X):
        features = sparse.vstack([first.X, second.X], format='csr')
    else:
        features = np.vstack([first.X, second.X])
    targets = np.vstack([first.Y, second.Y])
    return DataSet(name, features, targets, first.label_names, first.feature_names)
