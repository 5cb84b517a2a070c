# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The figures that the paper prints, to be shown beside ours."""

from __future__ import annotations

from typing import NamedTuple

PATTERNS = {
    'scene': ('5+1', '4+1+1'),
    'medical': ('44+1', '39+2+2+1+1', '38+3+4'),
    'corel5k': ('373+1', '368+2+1+1+2'),
}

# The patterns of Figures 1 and 2.
FIGURE_PATTERNS = {'scene': '5+1', 'medical': '39+2+2+1+1', 'corel5k': '368+2+1+1+2'}


class Characteristics(NamedTuple):
    """A column of Table I."""

    domain: str
    features: int
    samples: int
    labels: int
    density: float
    cardinality: float


TABLE_1 = {
    'scene': Characteristics('multimedia', 294, 2407, 6, 0.178, 1.07),
    'medical': Characteristics('text', 1449, 978, 45, 0.027, 1.25),
    'corel5k': Characteristics('multimedia', 499, 5000, 374, 0.009, 3.52),
}


class Row(NamedTuple):
    """A row of Table II; seconds are those of the authors' machine."""

    hamming_loss: float
    accuracy: float
    precision: float
    recall: float
    f1_paper: float
    training_seconds: float
    test_seconds: float


TABLE_2 = {
    ('scene', '5+1'): Row(0.104, 0.609, 0.627, 0.659, 0.643, 2.266, 0.042),
    ('scene', '4+1+1'): Row(0.139, 0.569, 0.584, 0.699, 0.636, 2.291, 0.080),
    ('medical', '44+1'): Row(0.012, 0.693, 0.740, 0.729, 0.734, 0.604, 0.025),
    ('medical', '39+2+2+1+1'): Row(0.016, 0.653, 0.695, 0.731, 0.712, 0.611, 0.034),
    ('medical', '38+3+4'): Row(0.023, 0.585, 0.622, 0.739, 0.675, 0.614, 0.027),
    ('corel5k', '373+1'): Row(0.010, 0.057, 0.164, 0.059, 0.087, 5.348, 0.044),
    ('corel5k', '368+2+1+1+2'): Row(0.010, 0.055, 0.151, 0.062, 0.088, 5.396, 0.056),
}

# Table IV, training seconds. Its Medical and Corel5k columns are swapped against Table II in the
# paper; here they are where they belong.
TABLE_4: dict[str, dict[str, float]] = {
    'CC': {'scene': 99, 'corel5k': 1125, 'medical': 28},
    'QWML': {'scene': 195, 'corel5k': 2388, 'medical': 40},
    'HOMER': {'scene': 68, 'corel5k': 771, 'medical': 16},
    'ML-C4.5': {'scene': 8, 'corel5k': 369, 'medical': 3},
    'PCT': {'scene': 2, 'corel5k': 30, 'medical': 0.6},
    'ML-kNN': {'scene': 14, 'corel5k': 389, 'medical': 1},
    'ECC': {'scene': 319, 'corel5k': 10073, 'medical': 103},
    'RFML-C4.5': {'scene': 10, 'corel5k': 385, 'medical': 7},
    'RF-PCT': {'scene': 23, 'corel5k': 902, 'medical': 27},
    'Pro-EMLC': {'scene': 2.266, 'corel5k': 5.396, 'medical': 0.611},
}
