# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a model on bags, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable

from proemlc_ros.evaluation.bag_steps import BagSet
from proemlc_ros.evaluation.prequential_evaluation import PrequentialEvaluation
from proemlc_ros.evaluation.results import EvaluationResult


def evaluate_bags(
    bags: BagSet, evaluation: PrequentialEvaluation, name: str, progress: Callable[[int], None],
) -> EvaluationResult:
    """Evaluate a model on bags.

    Args:
        bags: Bags to play.
        evaluation: The run, with its model.
        name: What distinguishes the run.
        progress: Called with the number of messages read since the last call.

    Raises:
        BagError: A bag cannot be read, or has nothing to compare predictions with.

    """
    notes: list[str] = []
    start = 0
    began = time.perf_counter()
    for path in bags.paths:
        steps = bags.steps(path, evaluation.stream, evaluation.on_prediction is None)
        for step, messages in steps:
            evaluation.take(step, steps.hidden)
            if (layer := evaluation.layer) is not None:
                steps.offer(layer)
            progress(messages)
        start = start or steps.start
        notes += steps.notes
    return evaluation.result(name, start, time.perf_counter() - began, notes)
