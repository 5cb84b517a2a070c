# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the data sets of an experiment come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from proemlc_ros.evaluation.introduction import parse_pattern
from proemlc_ros.experiments.datasets import DataSet, find_dataset, read_dataset

_QUICK_SAMPLES = 200


@dataclass(frozen=True)
class Source:
    """A data set to be read.

    Attributes:
        name: What it is called in tables.
        path: A file, or a folder in which a set of this name is looked for.
        patterns: Its label introduction patterns.
        labels: What read_dataset() is told about the label columns of a file.

    """

    name: str
    path: Path
    patterns: tuple[str, ...]
    labels: int | tuple[str, ...] | None = None

    def load(self, quick: bool = False) -> DataSet:
        """Read it; quick: a part of the samples only.

        Raises:
            DataSetError: It is missing or damaged.

        """
        data = (find_dataset(self.path, self.name) if self.path.is_dir()
                else replace(read_dataset(self.path, self.labels), name=self.name))
        if quick and len(data) > _QUICK_SAMPLES:
            rows = np.random.default_rng(0).permutation(len(data))[:_QUICK_SAMPLES]
            data = data.subset(np.sort(rows))
        return data


def own_source(path: Path, labels: int | tuple[str, ...] | None,
               patterns: tuple[str, ...]) -> Source:
    """Return the source for a file of the user's own, after checking that it can be read.

    Without patterns the last two labels come one after the other, as in the paper's "4+1+1".

    Raises:
        DataSetError: The file is missing or damaged.
        IntroductionError: A pattern does not suit the labels.

    """
    count = read_dataset(path, labels).Y.shape[1]
    if not patterns:
        patterns = (f'{count - 2}+1+1',) if count > 2 else (f'{count}',)
    for pattern in patterns:
        parse_pattern(pattern, count)
    return Source(path.stem, path, patterns, labels)
