# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The batch solutions that the incremental learner must equal, and samples to learn."""

import hashlib

import numpy as np

from proemlc_ros.core import ProEMLC

NAMES = ['cup', 'red', 'robot', 'door', 'person', 'chair']


def samples(count, width=7, labels=4, seed=0):
    """Return X and one tuple of label names per row; some rows have none."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, width))
    directions = random.normal(size=(width, labels))
    present = X @ directions > 1.0
    return X, [tuple(NAMES[column] for column in np.flatnonzero(row)) for row in present]


def targets_of(annotations, names):
    """Return the paper's targets, 1 and -1, for complete annotations."""
    return np.array([[1.0 if name in annotation else -1.0 for name in names]
                     for annotation in annotations])


def batch_scores(model, X, annotations, X_new):
    """Return the scores of one ridge solve on all samples with all labels from the start."""
    H, H_new = model.hidden(X), model.hidden(X_new)
    information = H.T @ H + model.options.ridge * np.eye(H.shape[1])
    return H_new @ np.linalg.solve(information, H.T @ targets_of(annotations, model.labels))


def masked_scores(model, X, annotations, X_new):
    """Return scores of one ridge solve per label, over the samples in which it is known.

    annotations: (present, absent, complete) of each row of X.
    """
    H, H_new = model.hidden(X), model.hidden(X_new)
    scores = []
    for name in model.labels:
        known = [complete or name in present + absent for present, absent, complete in annotations]
        y = [1.0 if name in present else -1.0 for present, _, _ in annotations]
        rows, targets = H[known], np.array(y)[known]
        information = rows.T @ rows + model.options.ridge * np.eye(H.shape[1])
        scores.append(H_new @ np.linalg.solve(information, rows.T @ targets))
    return np.column_stack(scores) if scores else np.zeros((len(X_new), 0))


def plain(**settings):
    """Return a model with random neurons, whose layer needs no samples."""
    return ProEMLC(**{'hidden_size': 20, 'ridge': 1.0, 'activation': 'tanh', 'scaling': 'none',
                      **settings})


def digest_of(model):
    """Return a digest of everything in a model; pytest would compare the bytes for minutes."""
    return hashlib.sha256(model.to_bytes()).hexdigest()
