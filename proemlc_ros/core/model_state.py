# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a model: nothing learnt, warming up, or with its hidden layer fixed."""

from __future__ import annotations

from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer, HiddenRows
from proemlc_ros.core.layer.warmup import WarmUp
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning.cached_sample import CachedSample
from proemlc_ros.core.learning.in_order import learn_pseudo_inverse, learn_rows
from proemlc_ros.core.learning.rebuild import Rebuild, can_wait
from proemlc_ros.core.learning.unlearning import calibrate, unlearn_rows
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import PrequentialRecorder, PrequentialResult
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.errors import InitialBlockError, NeverLearntError, NotReadyError


class ModelState:
    """Makes the learner when the first samples come, and again while the layer is provisional.

    Every change is complete or, when an error is raised, has not happened.

    Args:
        options: settings.
        labels: known from the start.
    """

    def __init__(self, options: Options, labels: LabelColumns) -> None:
        self.options = options
        self.width = options.width
        self.first_labels = labels
        self._learner: Learner | None = None
        self._rebuild: Rebuild | None = None
        self.warmup: WarmUp | None = (
            WarmUp(options.warmup_samples) if options.needs_samples else None)

    @property
    def learner(self) -> Learner | None:
        """The learner, with all samples learnt; None before the first one."""
        if self._rebuild is not None:
            self.learner = self._rebuild.finish()
        return self._learner

    @learner.setter
    def learner(self, learner: Learner | None) -> None:
        self._learner, self._rebuild = learner, None

    @property
    def ready(self) -> Learner | None:
        """The learner, if its layer is fixed and no work is left to do."""
        return self._learner if self.warmup is None and self._rebuild is None else None

    @property
    def known(self) -> LabelColumns:
        """The known names; unlike labels, while samples still wait to be learnt."""
        return self.first_labels if self._learner is None else self._learner.labels

    @property
    def fixed(self) -> Learner | None:
        """The learner, once its layer is fixed."""
        return self.learner if self.warmup is None else None

    @property
    def labels(self) -> LabelColumns:
        """The known labels."""
        return self.first_labels if self.learner is None else self.learner.labels

    def learn(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        """Learn samples in order."""
        if self.options.ridge == 0.0 and self._learner is None:
            raise InitialBlockError('with ridge=0 the model needs an initial block; '
                                    'call learn_initial() first, or choose a ridge above 0')
        if self._put_off(rows, annotations):
            return
        if self.warmup is not None:
            self._learn_warming_up(self.warmup, rows, annotations)
        elif self.learner is not None:
            learn_rows(self.learner, rows, annotations)
        else:
            self._start(make_layer(self.options, rows.shape[1], None), rows, annotations)

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

    def test_then_train(self, rows: Rows, annotations: list[SampleLabels],
                        hidden: HiddenRows | None = None) -> PrequentialResult:
        """Learn samples and return the prediction for each from just before it was learnt."""
        recorder = PrequentialRecorder()
        # One by one while the layer may change; on a copy, since an error must change nothing.
        state = self if self.fixed is not None else self.copy()
        start = 0
        while state.fixed is None and start < rows.shape[0]:
            state._test_then_train_one(recorder, rows[start:start + 1], annotations[start])
            start += 1
        if start < rows.shape[0] and state.learner is not None:
            learn_rows(state.learner, rows[start:], annotations[start:], recorder,
                       None if start else hidden)
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
        self._learn_again(left)

    def calibrate(self, rows: Rows, annotations: list[SampleLabels]) -> None:
        """Learn the thresholds again from learnt samples."""
        for annotation in annotations:
            for name in annotation.present + annotation.absent:
                self.labels.column(name)
        if self.learner is not None:
            calibrate(self.learner, rows, annotations)

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
        self._rename_kept(name, None)

    def fix(self) -> None:
        """Fix a provisional layer now, with the samples that have come."""
        if self.warmup is not None and len(self.warmup):
            self._learn_again(WarmUp(len(self.warmup), self.warmup.parts, self.warmup.annotations))

    # ----- warming up -----

    def _learn_warming_up(self, warmup: WarmUp, rows: Rows,
                          annotations: list[SampleLabels]) -> None:
        more = warmup.plus(rows, annotations)
        if self.learner is not None and more.layer_samples == warmup.layer_samples:
            if rows.shape[0] == 1 and not is_sparse(rows):
                self.learner.learn_one(rows[0], annotations[0])
            else:
                learn_rows(self.learner, rows, annotations)
            self.warmup = more
        else:
            if self.learner is not None:
                self.learner.check_rows(rows)  # A layer drawn with an outlier would accept it.
            self._learn_again(more)

    def _put_off(self, rows: Rows, annotations: list[SampleLabels]) -> bool:
        """Take a sample that a layer drawn anew is to learn, and do a part of that work.

        Only where no sample can be rejected later; whoever asks for the learner does the rest.
        """
        if self._learner is None or not can_wait(self._learner, rows, annotations):
            return False
        more = None if self.warmup is None else self.warmup.plus(rows, annotations)
        if more is not None and self.warmup is not None and (
                more.layer_samples != self.warmup.layer_samples):
            if not all(annotation.complete for annotation in more.annotations):
                return False
            # The first few draw the layer with each sample: what was begun is no longer wanted.
            self._rebuild = Rebuild(self.options, self.first_labels.names, more,
                                    self._unmentioned(more, self.known.names))
        elif self._rebuild is not None:
            self._rebuild.add(rows[0].copy(), annotations[0])
            learner = self._rebuild.step()
            if learner is not None:
                self.learner = learner
        else:
            return False
        new = [name for name in annotations[0].present if name not in self.known.columns]
        self.known.add(*new)
        self.warmup = None if more is None or more.over else more
        return True

    def _learn_again(self, warmup: WarmUp) -> None:
        """Draw the layer from the kept samples and learn all of them from the start."""
        unmentioned = self._unmentioned(warmup, self.labels.names)
        if len(warmup):
            rows = warmup.rows()
            layer = make_layer(self.options, rows.shape[1], rows[:warmup.layer_samples])
            self._start(layer, rows, list(warmup.annotations))
        else:
            self.learner = None
        for name in unmentioned:
            self._grow(name)
        self.warmup = None if warmup.over else warmup

    def _start(self, layer: HiddenLayer, rows: Rows, annotations: list[SampleLabels]) -> None:
        learner = Learner(self.options, layer, self.first_labels.names)
        learn_rows(learner, rows, annotations)
        self.learner, self.width = learner, rows.shape[1]

    def _unmentioned(self, warmup: WarmUp, names: list[str]) -> list[str]:
        """Return the labels that only samples taken back have mentioned; they stay known."""
        mentioned = {name for annotation in warmup.annotations
                     for name in annotation.present + annotation.absent}
        return [name for name in names
                if name not in mentioned and name not in self.first_labels.columns]

    def _rename_kept(self, name: str, new_name: str | None) -> None:
        """Change a name where samples are kept to be learnt again."""
        if self.warmup is not None:
            self.warmup = self.warmup.renamed(name, new_name)
        if self.learner is not None and name in self.first_labels.columns:
            if new_name is None:
                self.first_labels.remove(name)
            else:
                self.first_labels.rename(name, new_name)

    # ----- whole -----

    def copy(self) -> ModelState:
        """Return an independent copy."""
        twin = ModelState(self.options, self.first_labels.copy())
        twin.width, twin.warmup = self.width, self.warmup
        twin.learner = None if self.learner is None else self.learner.copy()
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
