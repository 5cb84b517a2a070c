# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured of our own learner on one fold: every pattern, by default and as the paper."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from proemlc_ros.core.metrics import evaluate
from proemlc_ros.core.selection.search import SIZES, select_model, try_candidate
from proemlc_ros.evaluation.introduction import parse_pattern
from proemlc_ros.experiments.datasets import DataSet
from proemlc_ros.experiments.memory import peak_bytes
from proemlc_ros.experiments.protocol import Fold, mixed_order
from proemlc_ros.experiments.stream_run import Stream, StreamRun

# The paper's network: sigmoid neurons, no ridge; only their number is chosen (its step 2).
_PAPER_CANDIDATE = {'activation': 'sigmoid', 'scaling': 'none', 'bias': False, 'threshold': 'zero'}
_PAPER_SETTINGS = {**_PAPER_CANDIDATE, 'ridge': 0.0, 'recalibration': 'paper'}
_PAPER_SIZES = (25, 50, 100, 150, 200, 300, 400)
# Stands in for no ridge at all while sizes are compared; the runs themselves have none.
_NEARLY_NO_RIDGE = 1e-6
_MOST_PER_SAMPLE = 0.7
# Where in the stream the first new label comes, in the order that has them late.
_LATE = 0.75
# What a quick run looks at; direct links, one column a feature, would take most of its minute.
_QUICK: dict[str, Any] = {'sizes': SIZES[:4], 'ridges': (0.03, 0.3), 'links': False}

Record = dict[str, Any]


def run_ours(data: DataSet, fold: Fold, patterns: tuple[str, ...], chunk: int, quick: bool,
             curve_pattern: str | None) -> list[Record]:
    """Return one record for each pattern, with the settings that model choice finds.

    Two more are for the last pattern: with the rule that makes the fewest errors, and with the
    smallest network that model choice finds good enough. All three are also learnt at once, for
    the time that takes.

    Args:
        data: The data set.
        fold: The samples to learn and to test.
        patterns: The label introduction patterns.
        chunk: Samples learnt at once.
        quick: Whether to look at small networks only.
        curve_pattern: The pattern whose error is measured along the stream.

    """
    memory = peak_bytes()
    X, Y = data.X[fold.train], data.Y[fold.train]
    began = time.process_time()
    chosen = select_model(X, Y, first=fold.first, **(_QUICK if quick else {}))
    choice_seconds = time.process_time() - began
    # For those who count errors and not hits, and for those in a hurry.
    few_errors = {**chosen.keywords(), 'threshold': 'learnt_hamming'}
    small = chosen.small_point
    records, scores = [], []
    for variant, settings, tried, summary in (
            ('default', chosen.keywords(), patterns, chosen.summary()),
            ('least errors', few_errors, patterns[-1:], chosen.summary()),
            ('small', small.options.as_dict(), patterns[-1:], chosen.summary(small))):
        at_once = Stream(data, fold, patterns[-1], len(fold.train)).run(
            settings, layer_samples=fold.first)
        for pattern in tried:
            run = Stream(data, fold, pattern, chunk).run(
                settings, variant == 'default' and pattern == curve_pattern, fold.first)
            records.append(_record(data, fold, variant, pattern, run, summary, choice_seconds))
            records[-1]['at_once_seconds'] = at_once.training_seconds
            if variant == 'default':
                scores += [run.scores, at_once.scores]
    # Labels without a training sample are unknown to some patterns and have no score there.
    shown = Y.any(axis=0)
    spread = max(float(np.abs(other - scores[0])[:, shown].max()) for other in scores)
    for record in records:
        record['pattern_spread'] = spread
        record['memory_bytes'] -= memory
    return records


def run_paper(data: DataSet, fold: Fold, patterns: tuple[str, ...], chunk: int, quick: bool,
              curve_pattern: str | None) -> list[Record]:
    """Run the paper's own formulas and thresholding, as run_ours().

    The paper does not say how it redistributed the samples. Variant 'paper' keeps earlier labels
    in the stream while later ones come, at equal distances; in 'paper, late' these come in the
    last quarter; 'paper, grouped' has labels strictly one after the other, as our defaults have,
    which is hardest for a formula that looks at the last chunk alone.
    """
    records = []
    memory = peak_bytes()
    for pattern in patterns:
        rows, sizes = np.sort(fold.train), parse_pattern(pattern, data.Y.shape[1])
        orders = {'paper': rows[mixed_order(data.Y[rows], sizes, fold.number)],
                  'paper, late': rows[mixed_order(data.Y[rows], sizes, fold.number, _LATE)],
                  'paper, grouped': fold.train}
        for variant, train in orders.items():
            stream = Stream(data, replace(fold, train=train), pattern, chunk)
            began = time.process_time()
            hidden_size = paper_size(stream, quick)
            choice_seconds = time.process_time() - began
            run = stream.run({**_PAPER_SETTINGS, 'hidden_size': hidden_size},
                             pattern == curve_pattern and variant == 'paper')
            records.append(_record(data, fold, variant, pattern, run,
                                   f'sigmoid, {hidden_size} hidden', choice_seconds))
            records[-1]['memory_bytes'] -= memory
    return records


def paper_size(stream: Stream, quick: bool) -> int:
    """Return the number of neurons with the least left-out error on the training fold."""
    # Without a ridge an initial block must hold clearly more samples than there are neurons.
    most = max(1, round(_MOST_PER_SAMPLE * stream.block))
    sizes = sorted({min(size, most) for size in (_PAPER_SIZES[:3] if quick else _PAPER_SIZES)})
    points = try_candidate(stream.X, stream.truth, _PAPER_CANDIDATE, sizes, [_NEARLY_NO_RIDGE])
    return min(points, key=lambda point: point.left_out_square).options.hidden_size


def _record(data: DataSet, fold: Fold, variant: str, pattern: str, run: StreamRun, chosen: str,
            choice_seconds: float) -> Record:
    truth = data.Y[fold.test]
    return {
        'data': data.name, 'method': 'Pro-EMLC', 'variant': variant, 'pattern': pattern,
        'fold': fold.number, **evaluate(truth, run.predicted, run.scores),
        'training_seconds': run.training_seconds, 'test_seconds': run.test_seconds,
        'choice_seconds': choice_seconds, 'memory_bytes': peak_bytes(), 'chosen': chosen,
        'model_bytes': run.memory_bytes,
        'threshold': run.threshold, 'curve': run.curve, 'starts': run.starts,
    }

