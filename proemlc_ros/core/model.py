# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ProEMLC: the progressive multi-label classifier as users meet it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.decider import LeftOutQuality, left_out_quality
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.deciding.left_out import Solution
from proemlc_ros.core.labels import (
    LabelColumns,
    SampleLabels,
    check_cached,
    check_label,
    check_labels,
    check_samples,
)
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.learner import CachedSample, Learner
from proemlc_ros.core.learning import evidence_of
from proemlc_ros.core.model_state import ForgettingChoice, ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import (
    Classification,
    PrequentialResult,
    choose,
    choose_rows,
    classify,
    novelty_of_rows,
    probabilities_of,
)
from proemlc_ros.core.rows import Rows, check_rows, check_vector
from proemlc_ros.core.sample_filter import labelled_checksums
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.state import dump, restore
from proemlc_ros.errors import MergeError, NotReadyError
from proemlc_ros.files import replace_bytes

if TYPE_CHECKING:
    from proemlc_ros.core.sums import PartialSums

# Rows that are predicted together.
_TOGETHER = 512


class ProEMLC:
    """A multi-label classifier that learns sample by sample and grows with every new label.

    A random hidden layer feeds linear outputs, one per label, that are at any time the ridge
    solution for all samples learnt so far. A label that nobody has mentioned before gets the
    weights that it would have had if it had been known, and absent, from the first sample on.

    Methods may be called from several threads; each sees the model before or after a change, never
    in between.

    >>> model = ProEMLC()
    >>> model.learn([[0.0, 1.0], [1.0, 0.0]], [['cup'], ['cup', 'red']])
    ('cup', 'red')
    >>> model.learn([5.0, 5.0], ['robot'])  # a new label
    ('robot',)
    >>> model.labels
    ['cup', 'red', 'robot']
    >>> model.predict([[5.0, 4.9], [0.9, 0.0]])
    [('robot',), ('cup', 'red')]
    """

    def __init__(self, hidden_size: int = 500, ridge: float = 0.1, activation: str = 'laplacian',
                 scaling: str = 'asinh', direct_links: bool = False,
                 recalibration: str = 'exact', labels: Iterable[str] = (), seed: int = 0,
                 **more: Any) -> None:
        """Make a model that has learnt nothing.

        Args:
            hidden_size: number of hidden neurons; of centres for 'rbf'.
            ridge: weight of the ridge penalty; 0 needs learn_initial() first.
            activation: 'laplacian', 'rbf' or 'kernel_sum' (the mean of both, on scaled input and
                on ranks) for neurons around some of the first samples; a name of ACTIVATIONS
                (core/options.py), such as 'relu' or 'sigmoid', for random ones.
            scaling: 'none'; 'standard', 'minmax', 'asinh' (of 'standard') or 'rank' (all fitted
                on the first samples, then frozen); or 'l2' (every row to length one).
            direct_links: whether the outputs also see the scaled input itself.
            recalibration: 'exact', or 'paper' for eqs 15-19 of the paper.
            labels: names known from the start.
            seed: of the random weights.
            more: other settings by name, such as dtype or forgetting, 0.5 to 1 or 'auto'; see
                Options.

        Raises:
            ParameterError: when a setting makes no sense.
            LabelError: when a name is not usable.
        """
        options = Options.from_dict({
            'hidden_size': hidden_size, 'ridge': ridge, 'activation': activation,
            'scaling': scaling, 'direct_links': direct_links, 'recalibration': recalibration,
            'seed': seed, **more})
        self._begin(ModelState(options, LabelColumns(check_labels(labels))), {})

    def _begin(self, state: ModelState, extra: dict[str, Any],
               choice: ForgettingChoice | None = None) -> None:
        self._state = state
        # Models that forget at other rates, with forgetting='auto'.
        self._choice = (ForgettingChoice.beside(state)
                        if choice is None and state.options.adaptive else choice)
        # What the caller wants to keep with a saved model; plain JSON values.
        self.extra = extra
        # Whoever changes the model holds both, and lets go of the second one for longer work.
        self._changing = threading.RLock()
        self._lock = threading.RLock()

    # ----- predictions -----

    def scores(self, X: object) -> Array:
        """Return the raw outputs (n, labels): about 1 where a label is present, -1 where not."""
        with self._lock:
            learner = self._state.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                outputs = self._sample(learner, X).outputs(learner.ridge)
                return outputs[np.newaxis, 1:].copy()
            rows = self._check_rows(X)
            if learner is None:
                return np.zeros((rows.shape[0], len(self._state.labels)), self.options.dtype)
            outputs = learner.ridge.outputs_of_rows(learner.layer.rows(rows))
            return np.ascontiguousarray(outputs[:, 1:])

    def predict(self, X: object) -> list[tuple[str, ...]]:
        """Return the predicted labels of each row, best first."""
        with self._lock:
            learner = self._state.learner
            if learner is not None and type(X) is np.ndarray and X.ndim == 1:
                return [choose(learner, self._sample(learner, X))]
            rows = self._check_rows(X)
            if learner is None:
                return [()] * rows.shape[0]
            return [names for start in range(0, rows.shape[0], _TOGETHER)
                    for names in choose_rows(learner, rows[start:start + _TOGETHER])]

    def probabilities(self, X: object) -> Array:
        """Return the calibrated probability of each label (n, labels)."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                return np.zeros((rows.shape[0], len(self._state.labels)))
            return probabilities_of(learner, learner.layer.rows(rows))

    def novelty(self, X: object) -> Array:
        """Return for each row how unlike everything learnt it is, from 0 to 1."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                return np.ones(rows.shape[0], self.options.dtype)
            return novelty_of_rows(learner, learner.layer.rows(rows)).astype(self.options.dtype)

    def classify(self, x: object) -> Classification:
        """Return labels, scores, probabilities and novelty of one sample (width,), in one pass."""
        with self._lock:
            state = self._state
            vector = check_vector(x, state.width, state.options.dtype)
            if state.learner is not None:
                return classify(state.learner, state.learner.cached_sample(vector))
            names, count = tuple(state.labels.names), len(state.labels)
            return Classification((), np.zeros(count, state.options.dtype), 1.0, names, 0.0, 0,
                                  np.zeros(count, np.float32))

    def left_out_scores(self, X: object, labels: list[SampleLabels]) -> Array:
        """Return the scores (n, labels) of samples as they were learnt, each as if it was not."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None or not len(labels):
                return np.zeros((len(labels), len(self._state.labels)), self.options.dtype)
            return evidence_of(learner, rows, labels).scores

    def left_out_quality(self) -> LeftOutQuality:
        """Return how good predictions are for what was taught, each sample as if it had not been.

        By the samples that the model keeps, up to 768, and its decision as it is now. Copies of a
        sample stay learnt when it is left out. Other threads go on meanwhile.
        """
        with self._lock:
            learner = self._state.learner
            if learner is None or self.options.ridge == 0.0:
                return LeftOutQuality()
            solution, decision = Solution.of(learner, copied=True), learner.decision
            kept, columns = learner.reservoir.samples.copy(), learner.labels.copy()
        return left_out_quality(solution, decision, kept, columns)

    def hidden(self, X: object) -> Array:
        """Return the hidden rows (n, neurons); the layer exists once something was learnt."""
        with self._lock:
            rows = self._check_rows(X)
            learner = self._state.learner
            if learner is None:
                raise NotReadyError('the model has no hidden layer before its first sample; '
                                    'learn something first')
            return learner.layer.rows(rows)

    def _sample(self, learner: Learner, x: object) -> CachedSample:
        """Return one dense sample with what is known of it."""
        return learner.cached_sample(check_vector(x, self._state.width, learner.options.dtype))

    def _check_rows(self, X: object) -> Rows:
        return check_rows(X, self._state.width, self.options.dtype)

    # ----- learning -----

    def learn(self, X: object, labels: object, absent: object = None,
              complete: object = True) -> tuple[str, ...]:
        """Learn samples.

        Args:
            X: one sample (width,), or rows (n, width), NumPy or scipy.sparse.
            labels: the names present in the sample; for rows one collection per row.
            absent: the names absent from it, likewise; needed only where complete is False.
            complete: whether labels that are not listed are absent (True) or unknown (False); one
                value, or one per row.

        Returns:
            The labels that are new.

        Raises:
            InputError: when X cannot be used.
            LabelError: when the labels cannot be used.
            InitialBlockError: when ridge is 0 and there was no initial block.
        """
        with self._changing:
            state = self._state
            with self._lock:
                if self._choice is not None:
                    known = len(state.labels)
                    self.test_then_train(X, labels, absent, complete)
                    return tuple(self._state.labels.names[known:])
                if type(X) is np.ndarray and X.ndim == 1:
                    # The short way for one dense sample after the other, as a robot learns.
                    vector = check_vector(X, state.width, state.options.dtype)
                    annotation = check_cached(labels, absent, complete, state.labels.columns)
                    if (fixed := state.fixed) is not None:
                        known = len(fixed.labels)
                        fixed.learn_one(vector, annotation)
                        return tuple(fixed.labels.names[known:])
                    rows, annotations = vector[np.newaxis], [annotation]
                else:
                    rows, annotations = self._check(X, labels, absent, complete)
                names = {*state.labels.names}  # A layer made again may give them another order.
                state.check_begun()
                kept = state.kept_after(rows, annotations)
                if kept is None:
                    state.learn(rows, annotations)
            if kept is not None:
                remade = state.made_again(kept)  # Predictions go on meanwhile.
                with self._lock:
                    state.adopt(remade)
            return tuple(name for name in state.labels.names if name not in names)

    def learn_initial(self, X: object, labels: object) -> tuple[str, ...]:
        """Learn an initial block of complete annotations, before anything else (eqs 10-12).

        It fixes the hidden layer; with ridge = 0 it gives the pseudo-inverse solution (eq. 5).
        """
        with self._changing, self._lock:
            known = len(self._state.labels)
            samples = self._check(X, labels, None, True)
            self._change(lambda state: state.learn_initial(*samples))
            return tuple(self._state.labels.names[known:])

    def test_then_train(self, X: object, labels: object, absent: object = None,
                        complete: object = True) -> PrequentialResult:
        """Learn samples and return what classify() would have returned before each of them.

        The same as classify() and learn() in turn, but as fast as learning the rows together.
        """
        with self._changing, self._lock:
            rows, annotations = self._check(X, labels, absent, complete)
            if self._choice is None:
                return self._state.test_then_train(rows, annotations)
            self._state.check_begun()
            self._state, result = self._choice.learn(self._state, rows, annotations)
            return result

    def _change(self, change: Callable[[ModelState], None]) -> None:
        """Change the model, and those beside it that forget at other rates."""
        change(self._state)
        if self._choice is not None:
            self._choice.follow(change)

    def unlearn(self, X: object, labels: object, absent: object = None,
                complete: object = True, tolerance: float | None = None) -> None:
        """Take learnt samples back, as if they had never been learnt; the last row first.

        Exact in any order for complete annotations; for others, and with forgetting, when the last
        learnt goes first. Labels stay, even those that no sample shows any more: remove_label().

        Args:
            X: one sample, or rows, as they were learnt.
            labels, absent, complete: as they were learnt.
            tolerance: largest relative rounding error that may be expected; None: any.

        Raises:
            UnlearnError: when a sample was never learnt so, or rounding errors would be too
                large; the model is as before.
        """
        with self._changing, self._lock:
            samples = self._check(X, labels, absent, complete)
            self._change(lambda state: state.unlearn(*samples, tolerance))

    def count_learnt(self, X: object, labels: object, absent: object = None,
                     complete: object = True) -> int:
        """Return how many samples were learnt so; others count by chance, see SampleFilter."""
        with self._lock:
            rows, annotations = self._check(X, labels, absent, complete)
            learner = self._state.learner
            return 0 if learner is None else sum(
                checksum in learner.sample_filter
                for checksum in labelled_checksums(learner, rows, annotations))

    def calibrate(self, X: object, labels: object, absent: object = None,
                  complete: object = True) -> None:
        """Fit probabilities and decision to samples that were learnt, each as if left out.

        The model itself does so with a part of the samples, which it keeps; see fit_decision().
        """
        with self._changing, self._lock:
            samples = self._check(X, labels, absent, complete)
            self._change(lambda state: state.calibrate(*samples))

    def fit_decision(self) -> None:
        """Fit probabilities and decision to the samples kept for it; else done at times."""
        with self._changing, self._lock:
            self._change(ModelState.fit_decision)

    def fix_layer(self) -> None:
        """Fix a hidden layer that waits for more first samples, with those that have come."""
        with self._changing, self._lock:
            self._change(ModelState.fix)

    # ----- labels -----

    def add_labels(self, names: Iterable[str]) -> None:
        """Make labels known that no sample has shown; names: accepted before, those known stay."""
        with self._changing, self._lock:
            for name in names:
                self._change(partial(ModelState.add_label, name=name))

    def rename_label(self, name: str, new_name: str, accepted: bool = False) -> None:
        """Give a label another name; what was learnt of it stays.

        Args:
            name: of the label.
            new_name: its new name.
            accepted: the new name was accepted before, maybe by an earlier rule; no check.

        Raises:
            UnknownLabelError: when there is no such label.
            LabelExistsError: when another label has the new name.
            LabelError: when the new name is not usable.
        """
        with self._changing, self._lock:
            known = self._state.labels.find(name)
            new = new_name if accepted else check_label(new_name)
            self._change(lambda state: state.rename(known, new))

    def remove_label(self, name: str) -> None:
        """Forget a label; the others stay as they are.

        Raises:
            UnknownLabelError: when there is no such label.
        """
        with self._changing, self._lock:
            known = self._state.labels.find(name)
            self._change(lambda state: state.remove(known))

    # ----- several models -----

    def merge(self, other: ProEMLC) -> None:
        """Take over everything that another model of the same hidden layer has learnt.

        The result equals one model that learnt the samples of both. A label that one side has
        never met counts as absent there.

        Raises:
            HiddenLayerMismatchError: when the hidden layers differ; both models are as before.
            MergeError: when other settings differ, or a model would be merged with itself.
        """
        if other is self:
            raise MergeError('a model cannot be merged with itself; its samples would count twice')
        from proemlc_ros.core.sums import merge_states  # A node alone merges nothing.

        theirs = other.copy()
        with self._changing, self._lock:
            merge_states(self._state, theirs._state)

    def partial_sums(self, width: int | None = None) -> PartialSums:
        """Return sums without samples for this hidden layer, to be filled elsewhere.

        width: of the samples to come, where the model does not know it yet.

        Raises:
            NotReadyError: when the hidden layer is not fixed yet.
        """
        from proemlc_ros.core.sums import PartialSums

        with self._lock:
            return PartialSums.empty(self.options, self._state.layer_for(width))

    @classmethod
    def from_sums(cls, sums: PartialSums) -> ProEMLC:
        """Return a model that has learnt the samples of partial sums."""
        return cls._of(ModelState.with_learner(sums.to_learner()), {})

    @classmethod
    def renewed(cls, X: object, labels: object, absent: object = None,
                complete: object = True, **more: Any) -> ProEMLC:
        """Return a model that all samples have decided on; see core/selection/renewal.py."""
        from proemlc_ros.core.selection.renewal import renewed
        return renewed(X, labels, absent, complete, **more)

    def copy(self) -> ProEMLC:
        """Return an independent copy."""
        with self._lock:
            choice = self._choice and self._choice.copy()
            return self._of(self._state.copy(), deepcopy(self.extra), choice)

    def empty_copy(self) -> ProEMLC:
        """Return a model with the same settings and hidden layer that has learnt nothing."""
        with self._lock:
            return self._of(self._state.empty_copy(), {})

    # ----- properties -----

    @property
    def options(self) -> Options:
        """The settings."""
        return self._state.options

    @property
    def labels(self) -> list[str]:
        """The known labels, in column order."""
        with self._lock:
            return list(self._state.labels.names)

    @property
    def counts(self) -> list[int]:
        """For each label, how many learnt samples showed it."""
        with self._lock:
            return list(self._state.labels.counts)

    @property
    def samples(self) -> int:
        """How many samples have been learnt, with any label or none."""
        with self._lock:
            return 0 if self._state.learner is None else self._state.learner.samples

    @property
    def width(self) -> int | None:
        """The length of a feature vector; None: not known yet."""
        return self._state.width

    @property
    def weights(self) -> Array:
        """A copy of the output weights (hidden row, labels), in column order."""
        with self._lock:
            learner = self._state.learner
            if learner is None:
                return np.zeros((0, len(self._state.labels)), self.options.dtype)
            return learner.ridge.beta[:, 1:].copy()

    @property
    def layer(self) -> HiddenLayer | None:
        """The hidden layer, provisional while warming up; None before the first sample."""
        with self._lock:
            return None if self._state.learner is None else self._state.learner.layer

    @property
    def scaling(self) -> Scaling | None:
        """How the layer scales its input; another object when it changes; None: no layer yet."""
        return None if (layer := self.layer) is None else layer.scaling

    @property
    def thresholds(self) -> Array:
        """For each label, the score above which it is predicted, or likelier than not."""
        with self._lock:
            learner, labels = self._state.learner, len(self._state.labels)
            return np.zeros(labels) if learner is None else learner.decision.thresholds()

    @property
    def decision(self) -> Decision:
        """How scores become probabilities and labels."""
        with self._lock:
            learner = self._state.learner
            return Decision.prior(self.options.threshold) if learner is None else learner.decision

    @property
    def warming_up(self) -> bool:
        """Whether the hidden layer is provisional and waits for more first samples."""
        return self._state.warmup is not None

    @property
    def layer_samples(self) -> int:
        """How many of the first samples the hidden layer was made of; 0: of none of these."""
        return self._state.complete_at

    @property
    def memory_bytes(self) -> int:
        """How much memory the arrays of the model take."""
        with self._lock:
            return self._state.memory_bytes

    @property
    def matrices(self) -> int:
        """How many matrices it needs: 1, and more where partial annotations inform labels."""
        with self._lock:
            return 1 if self._state.learner is None else self._state.learner.matrices

    @property
    def approximate_labels(self) -> tuple[str, ...]:
        """Labels learnt approximately: partial annotations need more than partial_memory."""
        with self._lock:
            learner = self._state.learner
            return () if learner is None else learner.approximate_labels

    # ----- storage -----

    def save(self, path: str | os.PathLike[str], extra: dict[str, Any] | None = None,
             key: bytes | None = None) -> None:
        """Write the model to a file, atomically and durably.

        Args:
            path: of the file; an existing one is replaced.
            extra: plain JSON values to keep with the model; None: those of the attribute.
            key: to sign the file with; None: it is not signed.

        Raises:
            OSError: when the file cannot be written; an older one is untouched.
        """
        replace_bytes(path, self.to_bytes(extra, key))

    def to_bytes(self, extra: dict[str, Any] | None = None, key: bytes | None = None) -> bytes:
        """Return what save() would write."""
        with self._lock:
            header, arrays = dump(self._state, self._choice)
            data = container.pack({**header, 'extra': self.extra if extra is None else extra},
                                  arrays)
        return data if key is None else container.sign(data, key)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = container.MAX_BYTES,
             key: bytes | None = None, require_signature: bool = False) -> ProEMLC:
        """Return the model that a file holds; it goes on exactly as the saved one would have.

        Args:
            path: of the file.
            max_bytes: size above which it is not read.
            key: with which a signature must have been made; None: signatures are ignored.
            require_signature: whether a file without a signature is rejected.

        Raises:
            ModelFileError: when the file is not a whole, unaltered model of a known version.
            SignatureError: when the signature does not fit, or is missing but required.
            OSError: when it cannot be read.
        """
        data = container.read_file(path, max_bytes)
        container.check_signature(data, key, require_signature)
        return cls.from_bytes(data, max_bytes)

    @classmethod
    def from_bytes(cls, data: bytes, max_bytes: int = container.MAX_BYTES) -> ProEMLC:
        """Return the model that to_bytes() was called on."""
        header, arrays = container.unpack(data)
        state, choice = restore(header, arrays, max_bytes)
        return cls._of(state, header.get('extra', {}), choice)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as a model file."""
        return type(self).from_bytes, (self.to_bytes(),)

    @classmethod
    def _of(cls, state: ModelState, extra: dict[str, Any],
            choice: ForgettingChoice | None = None) -> ProEMLC:
        model = cls.__new__(cls)
        model._begin(state, extra, choice)
        return model

    def _check(self, X: object, labels: object, absent: object,
               complete: object) -> tuple[Rows, list[SampleLabels]]:
        return check_samples(X, labels, absent, complete, self._state.width, self.options.dtype,
                             self._state.labels.columns)
