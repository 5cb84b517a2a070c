# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured on one fold: our learner, the paper's own formulas, and a baseline."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from proemlc_ros.core import ProEMLC
from proemlc_ros.core.deciding.decision import DecisionRule, best_choice
from proemlc_ros.core.metrics import evaluate, f1_example, hamming_loss
from proemlc_ros.core.selection.candidates import try_candidate
from proemlc_ros.core.selection.search import SIZES, select_model
from proemlc_ros.errors import ProEMLCError
from proemlc_ros.evaluation.tables import (
    DataSet,
    group_of_labels,
    introduction_order,
    parse_pattern,
)
from proemlc_ros.experiments.baselines import Baseline, baseline_class
from proemlc_ros.experiments.paper import Fold, group_starts

_CURVE_POINTS = 40


@dataclass
class _StreamRun:
    """What a pass gave.

    Attributes:
        predicted: Indicators of the test samples.
        scores: Their scores, one column per label of the data set.
        curve: Samples learnt, Hamming loss over all labels, and over the labels of later groups.
        starts: Where in the stream the groups after the first were introduced.
    """

    predicted: np.ndarray
    scores: np.ndarray
    training_seconds: float
    test_seconds: float
    memory_bytes: int
    threshold: float
    starts: list[int] = field(default_factory=list)
    curve: list[tuple[int, float, float]] = field(default_factory=list)


class Stream:
    """The samples of a fold as a learner meets them under one introduction pattern.

    Args:
        data: The data set.
        fold: Its stream and its test samples.
        pattern: Which labels are there from the start, and which come together later.
        chunk: Samples per update after the initial block.
    """

    def __init__(self, data: DataSet, fold: Fold, pattern: str, chunk: int = 1) -> None:
        """Prepare the stream."""
        self.data, self.fold, self.pattern, self.chunk = data, fold, pattern, chunk
        self.sizes = parse_pattern(pattern, data.Y.shape[1])
        self.truth = truth = data.Y[fold.train]
        self.starts = group_starts(truth, self.sizes)
        self.block = self.starts[0] if self.starts else len(truth)
        self.groups = group_of_labels(self.sizes)
        self.names = [[data.label_names[column] for column in np.flatnonzero(row)]
                      for row in truth]
        self.X = data.X[fold.train]

    def first_labels(self) -> list[str]:
        """Return the labels that are known from the start."""
        return self._labels_of(0)

    def run(self, settings: dict[str, Any], curve: bool = False,
            initial: int | None = None) -> _StreamRun:
        """Learn the stream and predict the test samples.

        Args:
            settings: Keywords of ProEMLC.
            curve: Whether to measure the test error along the way, outside the timing.
            initial: Samples of the initial block, which fix the hidden layer; None: all before
                the first new label; 0: no initial block, every sample is learnt as it comes.
        """
        model = ProEMLC(**settings, labels=self.first_labels())
        first = self.block if initial is None else min(self.block, initial)
        points: list[tuple[int, float, float]] = []
        seconds = 0.0
        if first:
            began = time.process_time()
            model.learn_initial(self.X[:first], self.names[:first])
            seconds = time.process_time() - began
            if curve:
                points.append(self._point(model, first))
        every = max(1, len(self.names) // _CURVE_POINTS)
        for start, stop in self._steps(first):
            began = time.process_time()
            self._learn(model, start, stop)
            seconds += time.process_time() - began
            if curve and (stop // every > start // every or stop == len(self.names)):
                points.append(self._point(model, stop))
        began = time.process_time()
        model.fit_decision()  # By all samples, as the settings are; in a stream it lags behind.
        seconds += time.process_time() - began
        began = time.process_time()
        predicted = self._predicted(model)
        test_seconds = time.process_time() - began
        return _StreamRun(predicted, self._scores(model), seconds, test_seconds,
                          model.memory_bytes, float(max(model.thresholds, default=0.0)),
                          self.starts, points)

    def _steps(self, first: int) -> list[tuple[int, int]]:
        """Return chunks that no introduction cuts through."""
        borders = [first, *(start for start in self.starts if start > first), len(self.names)]
        return [(start, min(start + self.chunk, high)) for low, high in zip(borders, borders[1:])
                for start in range(low, high, self.chunk)]

    def _learn(self, model: ProEMLC, start: int, stop: int) -> None:
        names = self.names[start:stop]
        if start not in self.starts:
            model.learn(self.X[start:stop], names)
            return
        # The whole group is introduced together: the first sample mentions all of its labels.
        fresh = [name for number, place in enumerate(self.starts, 1) if place == start
                 for name in self._labels_of(number)]
        absent = [[name for name in fresh if name not in names[0]]] + [[] for _ in names[1:]]
        model.learn(self.X[start:stop], names, absent)

    def _labels_of(self, group: int) -> list[str]:
        return [self.data.label_names[column] for column in np.flatnonzero(self.groups == group)]

    def _point(self, model: ProEMLC, samples: int) -> tuple[int, float, float]:
        model.fit_decision()
        truth, predicted = self.data.Y[self.fold.test], self._predicted(model)
        late = self.groups > 0
        return (samples, hamming_loss(truth, predicted),
                hamming_loss(truth[:, late], predicted[:, late]))

    def _predicted(self, model: ProEMLC) -> np.ndarray:
        place = {name: column for column, name in enumerate(self.data.label_names)}
        predicted = np.zeros((len(self.fold.test), len(place)), dtype=bool)
        for row, names in enumerate(model.predict(self.data.X[self.fold.test])):
            predicted[row, [place[name] for name in names]] = True
        return predicted

    def _scores(self, model: ProEMLC) -> np.ndarray:
        place = {name: column for column, name in enumerate(self.data.label_names)}
        scores = np.full((len(self.fold.test), len(place)), -1.0)
        columns = [place[name] for name in model.labels]
        scores[:, columns] = model.scores(self.data.X[self.fold.test])
        return scores


# Variants of our learner, as records name them.
SELECTED, DEFAULT = 'selected settings', 'default settings'
LEAST_ERRORS, SMALL = 'least errors', 'small'
# The paper's formulas, by the order of samples; and a baseline, by its decision rule.
PAPER_ORDERS = ('paper', 'paper, late', 'paper, grouped')
STOCK, SAME_RULE = 'stock', 'same rule'

# The paper's network: sigmoid neurons, no ridge; only their number is selected (its step 2).
_PAPER_CANDIDATE = {'activation': 'sigmoid', 'scaling': 'none', 'bias': False, 'threshold': 'zero'}
_PAPER_SETTINGS = {**_PAPER_CANDIDATE, 'ridge': 0.0, 'recalibration': 'paper'}
_PAPER_SIZES = (25, 50, 100, 150, 200, 300, 400)
# Stands in for no ridge at all while sizes are compared; the runs themselves have none.
_NEARLY_NO_RIDGE = 1e-6
_MOST_PER_SAMPLE = 0.7
# Position in the stream of the first new label, in the order that has new labels late.
_LATE = 0.75
# Candidates of a quick run; direct links, one column per feature, would take most of its minute.
_QUICK: dict[str, Any] = {'sizes': SIZES[:4], 'ridges': (0.03, 0.3), 'links': False}
# Share of the training samples that a baseline's settings and decision rule are selected on.
_HELD_OUT = 0.25

Record = dict[str, Any]
# Key of a record that has no figures, but the reason why.
FAILED = 'failed'


@dataclass(frozen=True)
class Conditions:
    """How our learner is run on a fold.

    Attributes:
        patterns: Label introduction patterns.
        chunk: Samples per update.
        quick: Whether to try small networks only.
        curve_pattern: The pattern for which the test error is recorded along the stream.
    """

    patterns: tuple[str, ...]
    chunk: int = 1
    quick: bool = False
    curve_pattern: str | None = None


def run_selected(data: DataSet, fold: Fold, conditions: Conditions) -> list[Record]:
    """Run our learner with the settings that model selection finds on the training fold.

    Two more records are for the last pattern: with the decision rule that makes the fewest
    errors, and with the smallest network that model selection finds good enough.

    Returns:
        One record per pattern, and these two.
    """
    memory = _peak_bytes()
    X, Y = data.X[fold.train], data.Y[fold.train]
    began = time.process_time()
    chosen = select_model(X, Y, first=fold.first, **(_QUICK if conditions.quick else {}))
    seconds = time.process_time() - began
    small = chosen.small_point
    variants = (
        (SELECTED, chosen.keywords(), conditions, chosen.summary()),
        # For users who count errors and not hits, and for users in a hurry.
        (LEAST_ERRORS, {**chosen.keywords(), 'threshold': 'learnt_hamming'},
         _last_only(conditions), chosen.summary()),
        (SMALL, small.options.as_dict(), _last_only(conditions), chosen.summary(small)))
    return [{**record, 'choice_seconds': seconds, 'chosen': summary,
             'memory_bytes': record['memory_bytes'] - memory}
            for variant, settings, under, summary in variants
            for record in _run_variant(data, fold, under, variant, settings, fold.first)]


def run_default(data: DataSet, fold: Fold, conditions: Conditions) -> list[Record]:
    """Run `ProEMLC()` as it is: nothing selected, and no initial block.

    Returns:
        One record per pattern.
    """
    memory = _peak_bytes()
    return [{**record, 'choice_seconds': 0.0, 'chosen': 'ProEMLC()',
             'memory_bytes': record['memory_bytes'] - memory}
            for record in _run_variant(data, fold, conditions, DEFAULT, {}, 0)]


def run_paper(data: DataSet, fold: Fold, conditions: Conditions) -> list[Record]:
    """Run the paper's own formulas and thresholding.

    The paper does not say how it reordered the samples. Variant 'paper' keeps earlier labels in
    the stream while later ones come, at equal distances; in 'paper, late' these come in the last
    quarter; 'paper, grouped' has labels strictly one after the other, as our own rows have, which
    is hardest for a formula that uses the last chunk alone.

    Returns:
        One record per pattern and order.
    """
    records = []
    memory = _peak_bytes()
    for pattern in conditions.patterns:
        rows, sizes = np.sort(fold.train), parse_pattern(pattern, data.Y.shape[1])
        orders = (*(rows[introduction_order(data.Y[rows], sizes, fold.number, start)]
                    for start in (None, _LATE)), fold.train)
        for variant, train in zip(PAPER_ORDERS, orders, strict=True):
            stream = Stream(data, replace(fold, train=train), pattern, conditions.chunk)
            try:
                records.append(_run_formulas(
                    stream, variant, conditions.quick,
                    pattern == conditions.curve_pattern and variant == PAPER_ORDERS[0], memory))
            except ProEMLCError as error:
                # Without a ridge, samples may not determine the weights; the others go on.
                records.append({'data': data.name, 'method': 'Pro-EMLC', 'variant': variant,
                                'pattern': pattern, 'fold': fold.number,
                                FAILED: f'{variant}, {pattern}: {error}'})
    return records


def _run_formulas(stream: Stream, variant: str, quick: bool, curve: bool, memory: int) -> Record:
    """Run the paper's formulas on one stream."""
    began = time.process_time()
    hidden_size = _paper_size(stream, quick)
    seconds = time.process_time() - began
    run = stream.run({**_PAPER_SETTINGS, 'hidden_size': hidden_size}, curve)
    record = _record(stream.data, stream.fold, variant, stream.pattern, run)
    return {**record, 'memory_bytes': record['memory_bytes'] - memory,
            'choice_seconds': seconds, 'chosen': f'sigmoid, {hidden_size} hidden'}


def _paper_size(stream: Stream, quick: bool) -> int:
    """Return the number of neurons with the least leave-one-out error on the training fold."""
    # Without a ridge an initial block must hold clearly more samples than there are neurons.
    most = max(1, round(_MOST_PER_SAMPLE * stream.block))
    sizes = sorted({min(size, most) for size in (_PAPER_SIZES[:3] if quick else _PAPER_SIZES)})
    points = try_candidate(stream.X, stream.truth, _PAPER_CANDIDATE, sizes, [_NEARLY_NO_RIDGE])
    return min(points, key=lambda point: point.left_out_square).options.hidden_size


def run_baseline(data: DataSet, fold: Fold, name: str) -> list[Record]:
    """Run a baseline; it learns the whole training fold in one batch, with all labels known.

    Labels without any training sample are never predicted under our rule, as in our learner.

    Returns:
        Two records: with the baseline's own decision rule, and with that of our learner.
    """
    kind = baseline_class(name)
    memory = _peak_bytes()
    X, Y = data.X[fold.train], data.Y[fold.train]
    began = time.process_time()
    settings, rule = select_baseline(kind, X, Y, fold.number)
    selected = time.process_time()
    baseline = kind(**settings, seed=fold.number)
    baseline.fit(X, Y)
    trained = time.process_time()
    test, truth = data.X[fold.test], data.Y[fold.test]
    predicted = baseline.predict(test)
    tested = time.process_time()
    scores = baseline.scores(test)
    ruled = rule.decide(np.where(Y.any(axis=0), scores, -np.inf))
    common = {
        'data': data.name, 'method': name, 'pattern': '', 'fold': fold.number,
        'training_seconds': trained - selected, 'test_seconds': tested - trained,
        'choice_seconds': selected - began, 'memory_bytes': _peak_bytes() - memory,
        'chosen': ', '.join(f'{key}={value}' for key, value in settings.items()),
    }
    return [{**common, 'variant': STOCK, **evaluate(truth, predicted, scores)},
            {**common, 'variant': SAME_RULE, 'threshold': rule.threshold,
             **evaluate(truth, ruled, scores)}]


def select_baseline(kind: type[Baseline], X: Any, Y: np.ndarray,
                    seed: int) -> tuple[dict[str, Any], DecisionRule]:
    """Select a baseline's settings and decision rule on held-out training samples."""
    order = np.random.default_rng(seed).permutation(len(Y))
    held = max(1, round(_HELD_OUT * len(Y)))
    out, rest = np.sort(order[:held]), np.sort(order[held:])
    tried = []
    for settings in kind.settings_for(Y.shape[1]):
        baseline = kind(**settings, seed=seed)
        baseline.fit(X[rest], Y[rest])
        scores = np.where(Y[rest].any(axis=0), baseline.scores(X[out]), -np.inf)
        rule = best_choice(scores, Y[out])
        tried.append((f1_example(Y[out], rule.decide(scores)), settings, rule))
    _, settings, rule = max(tried, key=lambda one: one[0])
    return settings, rule


def _peak_bytes() -> int:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _last_only(conditions: Conditions) -> Conditions:
    return replace(conditions, patterns=conditions.patterns[-1:], curve_pattern=None)


def _run_variant(data: DataSet, fold: Fold, conditions: Conditions, variant: str,
                 settings: dict[str, Any], initial: int) -> list[Record]:
    """Return one record per pattern, each with the time and the scores of one batch beside it."""
    batch = Stream(data, fold, conditions.patterns[-1], len(fold.train)).run(
        settings, initial=initial)
    # Labels without a training sample are unknown to some patterns and have no score there.
    shown = data.Y[fold.train].any(axis=0)
    records, spread = [], 0.0
    for pattern in conditions.patterns:
        run = Stream(data, fold, pattern, conditions.chunk).run(
            settings, pattern == conditions.curve_pattern, initial)
        spread = max(spread, float(np.abs(run.scores - batch.scores)[:, shown].max()))
        records.append({**_record(data, fold, variant, pattern, run),
                        'at_once_seconds': batch.training_seconds})
    return [{**record, 'pattern_spread': spread} for record in records]


def _record(data: DataSet, fold: Fold, variant: str, pattern: str, run: _StreamRun) -> Record:
    return {
        'data': data.name, 'method': 'Pro-EMLC', 'variant': variant, 'pattern': pattern,
        'fold': fold.number, **evaluate(data.Y[fold.test], run.predicted, run.scores),
        'training_seconds': run.training_seconds, 'test_seconds': run.test_seconds,
        'memory_bytes': _peak_bytes(), 'model_bytes': run.memory_bytes,
        'threshold': run.threshold, 'curve': run.curve, 'starts': run.starts,
    }
