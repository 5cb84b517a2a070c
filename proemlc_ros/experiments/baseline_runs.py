# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""One rival on one fold: settings chosen on training data, its own rule and ours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from proemlc_ros.core.metrics import evaluate, f1_example
from proemlc_ros.core.thresholds import DecisionRule, best_choice
from proemlc_ros.experiments.baselines import Baseline, rival_class
from proemlc_ros.experiments.datasets import DataSet
from proemlc_ros.experiments.memory import peak_bytes
from proemlc_ros.experiments.our_runs import Record
from proemlc_ros.experiments.protocol import Fold

# Part of the training samples that settings and the decision rule are chosen on.
_HELD_OUT = 0.25


def run_rival(data: DataSet, fold: Fold, name: str) -> list[Record]:
    """Return two records: the method as it is, and with the decision rule of our learner.

    Labels without any training sample are never predicted under our rule, as in our learner.
    """
    kind = rival_class(name)
    memory = peak_bytes()
    X, Y = data.X[fold.train], data.Y[fold.train]
    began = time.process_time()
    settings, rule = choose(kind, X, Y, fold.number)
    choice_seconds = time.process_time() - began
    rival = kind(**settings, seed=fold.number)
    began = time.process_time()
    rival.fit(X, Y)
    training_seconds = time.process_time() - began
    test, truth = data.X[fold.test], data.Y[fold.test]
    began = time.process_time()
    predicted = rival.predict(test)
    test_seconds = time.process_time() - began
    scores = rival.scores(test)
    ruled = rule.decide(np.where(Y.any(axis=0), scores, -np.inf))
    common = {
        'data': data.name, 'method': name, 'pattern': '', 'fold': fold.number,
        'training_seconds': training_seconds, 'test_seconds': test_seconds,
        'choice_seconds': choice_seconds, 'memory_bytes': peak_bytes() - memory,
        'chosen': ', '.join(f'{key}={value}' for key, value in settings.items()),
    }
    return [{**common, 'variant': 'stock', **evaluate(truth, predicted, scores)},
            {**common, 'variant': 'same rule', 'threshold': rule.threshold,
             **evaluate(truth, ruled, scores)}]


def choose(kind: type[Baseline], X: Any, Y: np.ndarray, seed: int) -> tuple[dict[str, Any], DecisionRule]:
    """Choose settings and decision rule on held-out training samples."""
    order = np.random.default_rng(seed).permutation(len(Y))
    held = max(1, round(_HELD_OUT * len(Y)))
    out, rest = np.sort(order[:held]), np.sort(order[held:])
    best: tuple[float, dict[str, Any], DecisionRule] | None = None
    for settings in kind.settings_for(Y.shape[1]):
        rival = kind(**settings, seed=seed)
        rival.fit(X[rest], Y[rest])
        scores = np.where(Y[rest].any(axis=0), rival.scores(X[out]), -np.inf)
        rule = best_choice(scores, Y[out])
        quality = f1_example(Y[out], rule.decide(scores))
        if best is None or quality > best[0]:
            best = quality, settings, rule
    assert best is not None
    return best[1], best[2]

