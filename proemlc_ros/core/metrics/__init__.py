# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of predictions: of sets of labels, of rankings, and over a stream."""

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
from proemlc_ros.core.metrics.streaming import RollingMetrics, StreamingMetrics

__all__ = [
    'RollingMetrics', 'StreamingMetrics', 'accuracy', 'average_precision', 'coverage', 'evaluate',
    'f1_example', 'f1_macro', 'f1_micro', 'f1_paper', 'hamming_loss', 'one_error', 'precision',
    'ranking_loss', 'recall', 'subset_accuracy',
]
