# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of predictions: of sets of labels, of rankings, and over a stream."""

from proemlc_ros.core.metrics.loss_curve import CurvePoint, LossCurve
from proemlc_ros.core.metrics.prequential import JudgedLabels, LabelCounts, PrequentialMetrics
from proemlc_ros.core.metrics.ranking import average_precision, coverage, one_error, ranking_loss
from proemlc_ros.core.metrics.sets import (
    accuracy,
    evaluate,
    f1_example,
    f1_macro,
    f1_micro,
    f1_paper,
    hamming_loss,
    precision,
    recall,
    subset_accuracy,
)

__all__ = [
    'CurvePoint', 'JudgedLabels', 'LabelCounts', 'LossCurve', 'PrequentialMetrics', 'accuracy',
    'average_precision', 'coverage', 'evaluate', 'f1_example', 'f1_macro', 'f1_micro', 'f1_paper',
    'hamming_loss', 'one_error', 'precision', 'ranking_loss', 'recall', 'subset_accuracy',
]
