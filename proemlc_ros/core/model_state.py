# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a model: nothing learnt, warming up, or with its hidden layer fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from proemlc_ros.core.labels import LabelColumns, SampleLabels
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.learner import CachedSample, Learner
from proemlc_ros.core.learning import (
    evidence_of,
    learn_pseudo_inverse,
    learn_rows,
    unlearn_rows,
)
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import PrequentialRecorder, PrequentialResult
from proemlc_ros.core.rows import Rows
from proemlc_ros.core.warmup import KeptRows, WarmUp, grow, learnt_again
from proemlc_ros.errors import InitialBlockError, NeverLearntError, NotReadyError, ProEMLCError

# Factors that prequential losses choose among: samples count all alike, the last 500, or 100.
_FACTORS = 1.0, 0.998, 0.99
# Weight of the losses before, with each sample; what a loss must be of that of the model used, to
# take its place; samples before that.
_FADING, _CLEARLY, _EARLY = 0.98, 0.97, 40


class _RemadeLearner(NamedTuple):
    """A learner that was made again, and what ModelState has to know of it."""

    learner: Learner | None
    warmup: WarmUp | None
    complete_at: int
    kept: KeptRows | None


class ModelState:
    """Makes the learner when the first samples come, and again while the layer grows.

    Every change is complete or, when an error is raised, has not happened.

    Args:
        options: settings.
        labels: known from the start.
    """

    def __init__(self, options: Options, labels: LabelColumns) -> None:
        self.options = options
        self.width = options.width
        self.first_labels = labels
        self.learner: Learner | None = None
        # Samples with which the layer was complete; 0: it is not, or was never to grow.
        self.complete_at = 0
        self._kept: KeptRows | None = None
        # A layer that an earlier version has drawn does not grow; it is made again.
        self.grows = True
        self.warmup: WarmUp | None = (
            WarmUp(options.warmup_samples) if options.needs_samples else None)

    @classmethod
    def with_learner(cls, learner: Learner) -> ModelState:
        """Return the state of a model whose layer is fixed."""
        state = cls(learner.options, LabelColumns())
        state.learner, state.width, state.warmup = learner, learner.layer.width, None
        return state

    @property
    def fixed(self) -> Learner | None:
        """The learner, if its layer is fixed."""
        return self.learner if self.warmup is None else None

    @property
    def labels(self) -> LabelColumns:
        """The known labels."""
        return self.first_labels if self.learner is None else self.learner.labels

    def learn(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        """Learn samples in order."""
        self.check_begun()
        more = self.kept_after(rows, annotations)
        if more is not None:
            self.adopt(self.made_again(more))
        elif self.warmup is not None:
            self._learn_growing(self.warmup, rows, annotations[0])
        elif self.learner is not None:
            learn_rows(self.learner, rows, annotations)
        else:
            self._start(make_layer(self.options, rows.shape[1], None), rows, annotations)

    def check_begun(self) -> None:
        """Check that a model without ridge has had its initial block."""
        if self.options.ridge == 0.0 and self.learner is None:
            raise InitialBlockError('with ridge=0 the model needs an initial block; '
                                    'call learn_initial() first, or choose a ridge above 0')

    def learn_initial(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        """Learn the first samples of all; they fix the layer."""
        if self.learner is not None and self.learner.samples:
            raise InitialBlockError(f'{self.learner.samples} samples have been learnt already; '
                                    'the initial block comes first, on a new model')
        layer = (self.learner.layer if self.fixed is not None and self.learner is not None
                 else make_layer(self.options, rows.shape[1], rows))
        if self.options.ridge > 0.0:
            self._start(layer, rows, annotations)
        else:
            learner = Learner(self.options, layer, self.labels.names)
            learn_pseudo_inverse(learner, rows, annotations)
            self.learner, self.width = learner, rows.shape[1]
        self.warmup = None

    def test_then_train(self, rows: Rows, annotations: list[SampleLabels]) -> PrequentialResult:
        """Learn samples and return the prediction for each from just before it was learnt."""
        recorder = PrequentialRecorder()
        # One by one while the layer may change; on a copy, since an error must change nothing.
        state = self if self.fixed is not None else self.copy()
        start = 0
        while state.fixed is None and start < rows.shape[0]:
            state._test_then_train_one(recorder, rows[start:start + 1], annotations[start])
            start += 1
        if start < rows.shape[0] and state.learner is not None:
            learn_rows(state.learner, rows[start:], annotations[start:], recorder)
        self.__dict__.update(state.__dict__)
        return recorder.result(len(self.labels))

    def _test_then_train_one(self, recorder: PrequentialRecorder, row: Rows,
                             annotation: SampleLabels) -> None:
        if self.learner is None:
            recorder.record_nothing(len(self.labels))
        else:
            recorder.record(self.learner, len(self.labels),
                            CachedSample(b'', self.learner.layer.rows(row)[0].copy()))
        self.learn(row, [annotation])

    def unlearn(self, rows: Rows, annotations: list[SampleLabels],
                tolerance: float | None = None) -> None:
        """Take samples back, the last one first."""
        if self.learner is None:
            raise NeverLearntError('nothing has been learnt, so nothing can be unlearnt')
        if self.warmup is None:
            unlearn_rows(self.learner, rows, annotations, tolerance)
            return
        left = self.warmup
        for place in range(rows.shape[0] - 1, -1, -1):
            fewer = left.minus(rows[place:place + 1], annotations[place])
            if fewer is None:
                raise NeverLearntError(f'sample {place} was never learnt with these labels; '
                                       'give the values and labels it was learnt with')
            left = fewer
        self.adopt(self.made_again(left))

    def calibrate(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        """Fit the decision to the left-out scores of learnt samples, all of them."""
        for annotation in annotations:
            for name in annotation.present + annotation.absent:
                self.labels.column(name)
        if self.learner is not None:
            self.learner.decider.fit_to(self.learner, rows,
                                        evidence_of(self.learner, rows, annotations))

    def fit_decision(self) -> None:
        """Fit the decision to the samples kept for it."""
        if self.learner is not None:
            self.learner.decider.fit_now(self.learner)

    def add_label(self, name: str) -> None:
        """Make a label known that no sample has shown."""
        if self.warmup is not None and self.learner is not None:
            # A layer drawn again learns the samples again; the labels keep their order.
            self.first_labels.add(*(known for known in self.learner.labels.names
                                    if known not in self.first_labels.columns))
            if name not in self.first_labels.columns:
                self.first_labels.add(name)
        self._grow(name)

    def _grow(self, name: str) -> None:
        if self.learner is not None:
            self.learner.grow((name,))
        elif name not in self.first_labels.columns:
            self.first_labels.add(name)

    def rename(self, name: str, new_name: str) -> None:
        """Give a label another name."""
        self.labels.rename(name, new_name)
        if self.learner is not None:
            self.learner.tokens.rename(name, new_name)
        self._rename_kept(name, new_name)

    def remove(self, name: str) -> None:
        """Forget a label."""
        if self.learner is None:
            self.first_labels.remove(name)
        else:
            self.learner.remove_label(name)
            self.grows = False  # The kept samples are known by their labels.
        self._rename_kept(name, None)

    def fix(self) -> None:
        """Fix a provisional layer now, with the samples that have come."""
        if self.warmup is not None and len(self.warmup):
            names, rows = self.labels.names, self.warmup.rows()
            self._start(make_layer(self.options, rows.shape[1], rows), rows,
                        list(self.warmup.annotations))
            for name in names:
                self._grow(name)
            self.warmup, self.complete_at, self._kept = None, rows.shape[0], None

    # ----- warming up -----

    def kept_after(self, rows: Rows, annotations: list[SampleLabels]) -> WarmUp | None:
        """Return the samples from which the learner has to be made again, to learn more.

        None where it can learn them as it is.

        Raises:
            TooLargeError: a sample cannot be learnt.
        """
        if self.warmup is None:
            return None
        if self.learner is not None:
            if self.grows and rows.shape[0] == 1 and not self.warmup.refits:
                return None
            self.learner.check_rows(rows)  # A layer made with an outlier would accept it.
        return self.warmup.plus(rows, annotations)

    def made_again(self, warmup: WarmUp) -> _RemadeLearner:
        """Return a learner that has learnt kept samples from the start."""
        learner, complete, kept = None, 0, None
        if len(warmup):
            in_stream = self.warmup is not None and len(warmup) == len(self.warmup) + 1
            learner, complete, kept = learnt_again(self.options, self.first_labels.names, warmup,
                                                   in_stream)
            # Labels that only samples taken back have mentioned stay known.
            learner.grow(self.labels.names)
        return _RemadeLearner(learner, None if complete else warmup, complete, kept)

    def adopt(self, remade: _RemadeLearner) -> None:
        """Go on with a learner that was made again."""
        unmentioned = [] if remade.learner else self.labels.names
        self.learner, self.warmup, self.complete_at, self._kept = remade
        self.grows = True
        if self.learner is not None:
            self.width = self.learner.layer.width
        for name in unmentioned:
            self._grow(name)

    def _learn_growing(self, warmup: WarmUp, row: Rows, annotation: SampleLabels) -> None:
        """Learn one sample with a layer that grows; its scaling stays."""
        learner = self.learner
        assert learner is not None
        more, learnt = warmup.plus(row, [annotation]), False
        if self.options.radial:
            if self._kept is None:
                self._kept = KeptRows(learner, warmup.rows(), warmup.annotations)
            learnt = grow(learner, self._kept, row, annotation)
            if not learnt:
                learner.check_rows(row)
                self.adopt(self.made_again(more))
                return
        else:
            learn_rows(learner, row, [annotation])
        full = (self.options.radial and self.options.warmup is None
                and learner.layer.neurons >= self.options.hidden_size)
        over = full and len(more) >= more.needed or len(more) >= self.options.most_kept
        self.warmup, self.complete_at = (None, len(more)) if over else (more, 0)
        if over:
            self._kept = None
            assert learner.reservoir.samples is not None  # Follows the layer for the last time.
            for ridge in (learner.ridge, *(group.ridge for group in learner.groups or ())):
                ridge.stop_growing()

    def _start(self, layer: HiddenLayer, rows: Rows, annotations: list[SampleLabels]) -> None:
        learner = Learner(self.options, layer, self.first_labels.names)
        learn_rows(learner, rows, annotations)
        self.learner, self.width = learner, rows.shape[1]

    def _rename_kept(self, name: str, new_name: str | None) -> None:
        """Change a name where samples are kept to be learnt again."""
        if self.warmup is not None:
            self.warmup, self._kept = self.warmup.renamed(name, new_name), None
        if self.learner is not None and name in self.first_labels.columns:
            if new_name is None:
                self.first_labels.remove(name)
            else:
                self.first_labels.rename(name, new_name)

    # ----- whole -----

    def copy(self) -> ModelState:
        """Return an independent copy."""
        twin = ModelState(self.options, self.first_labels.copy())
        twin.width, twin.warmup, twin.grows = self.width, self.warmup, self.grows
        twin.learner = None if self.learner is None else self.learner.copy()
        twin.complete_at = self.complete_at
        return twin

    @property
    def memory_bytes(self) -> int:
        """The memory of the arrays."""
        kept = 0 if self.warmup is None else self.warmup.memory_bytes
        return kept + (0 if self.learner is None else self.learner.memory_bytes)

    def empty_copy(self) -> ModelState:
        """Return a state with the same layer, if it is fixed, and nothing learnt."""
        twin = ModelState(self.options, LabelColumns())
        twin.width = self.width
        if self.fixed is not None:
            twin.learner = Learner(self.options, self.fixed.layer)
            twin.warmup = None
        return twin

    def layer_for(self, width: int | None) -> HiddenLayer:
        """Return the fixed layer; width: of the samples to come, where nothing is learnt yet.

        Raises:
            NotReadyError: when the layer still waits for samples, or the width is not known.
        """
        if self.fixed is not None:
            return self.fixed.layer
        width = self.width if self.width is not None else width
        if self.warmup is not None or width is None:
            raise NotReadyError('the hidden layer is not fixed yet; learn the first samples, '
                                'or call learn_initial() or fix_layer()')
        return make_layer(self.options, width, None)


class ForgettingChoice:
    """Models that forget at different rates; the one that lately predicted best is used.

    All of them learn every sample, so the cost is that of three models. The loss of a model is
    the squared error of its probabilities for samples before they are learnt, faded by 2 % per
    sample. One that cannot follow a change is dropped.

    Args:
        states: of the models that are not used at the time.
        losses: faded sums of the losses, that of the model used first.
        seen: samples that they are of.
    """

    def __init__(self, states: list[ModelState], losses: list[float] | None = None,
                 seen: int = 0) -> None:
        self.states = states
        self.losses = losses or [0.0] * (1 + len(states))
        self.seen = seen

    @classmethod
    def beside(cls, state: ModelState) -> ForgettingChoice:
        """Return models that have learnt nothing, beside one that has not either."""
        def forgetting(factor: float) -> ModelState:
            options = replace(state.options, forgetting=factor)
            if state.fixed is None:
                return ModelState(options, state.first_labels.copy())
            return ModelState.with_learner(
                Learner(options, state.fixed.layer, state.labels.names))

        return cls([forgetting(factor) for factor in _FACTORS
                    if factor != state.options.forgetting])

    def __iter__(self) -> Iterator[ModelState]:
        """Iterate over the models that are not used."""
        return iter(self.states)

    def learn(self, used: ModelState, rows: Rows,
              annotations: list[SampleLabels]) -> tuple[ModelState, PrequentialResult]:
        """Learn samples; return the model to use from now on, and what that in use predicted."""
        result = used.test_then_train(rows, annotations)
        results = [result, *self.follow(lambda state: state.test_then_train(rows, annotations))]
        targets = np.array([used.learner.targets(annotation)[1:] for annotation in annotations]
                           if used.learner is not None else [])
        for place, one in enumerate(results):
            errors = np.where(targets != 0.0, (one.probabilities - (targets > 0.0)) ** 2, 0.0)
            for loss in errors.sum(axis=1).tolist():
                self.losses[place] = _FADING * self.losses[place] + loss
        self.seen += len(annotations)
        best = int(np.argmin(self.losses))
        if self.seen < _EARLY or not self.losses[best] < _CLEARLY * self.losses[0]:
            return used, result
        self.losses[0], self.losses[best] = self.losses[best], self.losses[0]
        chosen, self.states[best - 1] = self.states[best - 1], used
        return chosen, result

    def follow(self, change: Callable[[ModelState], PrequentialResult | None]
               ) -> list[PrequentialResult]:
        """Change the models that are not used as the one in use; those that cannot are dropped."""
        results = []
        for state in list(self.states):
            try:
                results.append(change(state))
            except ProEMLCError:
                place = self.states.index(state)
                del self.states[place], self.losses[place + 1]
        return [result for result in results if result is not None]

    def copy(self) -> ForgettingChoice:
        """Return an independent copy."""
        return ForgettingChoice([state.copy() for state in self.states], self.losses.copy(),
                                self.seen)
