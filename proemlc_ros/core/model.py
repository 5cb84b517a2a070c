# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""ProEMLC: the progressive multi-label classifier as users meet it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from proemlc_ros.core.labels import LabelColumns, check_label, check_labels
from proemlc_ros.core.layer.hidden import HiddenRows
from proemlc_ros.core.model_reader import ModelReader
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import PrequentialResult
from proemlc_ros.core.rows import check_vector
from proemlc_ros.core.samples import check_cached
from proemlc_ros.core.storage import container
from proemlc_ros.core.storage.signing import check_signature
from proemlc_ros.core.storage.state import restore
from proemlc_ros.errors import MergeError

if TYPE_CHECKING:
    from proemlc_ros.core.fleet.sums import PartialSums


class ProEMLC(ModelReader):
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

    def __init__(self, hidden_size: int = 500, ridge: float = 0.03, activation: str = 'laplacian',
                 scaling: str = 'standard', direct_links: bool = False,
                 recalibration: str = 'exact', labels: Iterable[str] = (), seed: int = 0,
                 **more: Any) -> None:
        """Make a model that has learnt nothing.

        Args:
            hidden_size: number of hidden neurons; of centres for 'rbf'.
            ridge: weight of the ridge penalty; 0 needs learn_initial() first.
            activation: 'laplacian' or 'rbf' for neurons around some of the first samples; 'relu',
                'sigmoid', 'tanh', 'sine', 'gaussian', 'softplus' or 'identity' for random ones.
            scaling: 'none', 'standard' or 'minmax' (fitted on the first samples, then frozen), or
                'l2' (every row to length one).
            direct_links: whether the outputs also see the scaled input itself.
            recalibration: 'exact', or 'paper' for eqs 15-19 of the paper.
            labels: names known from the start.
            seed: of the random weights.
            more: other settings by name, such as dtype or forgetting; see Options.

        Raises:
            ParameterError: when a setting makes no sense.
            LabelError: when a name is not usable.
        """
        options = Options.from_dict({
            'hidden_size': hidden_size, 'ridge': ridge, 'activation': activation,
            'scaling': scaling, 'direct_links': direct_links, 'recalibration': recalibration,
            'seed': seed, **more})
        super().__init__(ModelState(options, LabelColumns(check_labels(labels))), {})

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
        with self._lock:
            state = self._state
            if type(X) is np.ndarray and X.ndim == 1:
                # The short way for one dense sample after the other, as a robot learns.
                vector = check_vector(X, state.width, state.options.dtype)
                annotation = check_cached(labels, absent, complete, state.known.columns)
                if (fixed := state.ready) is not None:
                    known = len(state.known)
                    fixed.learn_one(vector, annotation)
                    return tuple(state.known.names[known:])
                rows, annotations = vector[np.newaxis], [annotation]
            else:
                rows, annotations = self._check(X, labels, absent, complete)
            names = {*state.known.names}  # A layer drawn again may give them another order.
            state.learn(rows, annotations)
            return tuple(name for name in state.known.names if name not in names)

    def learn_initial(self, X: object, labels: object) -> tuple[str, ...]:
        """Learn an initial block of complete annotations, before anything else (eqs 10-12).

        It fixes the hidden layer; with ridge = 0 it gives the pseudo-inverse solution (eq. 5).
        """
        with self._lock:
            known = len(self._state.labels)
            self._state.learn_initial(*self._check(X, labels, None, True))
            return tuple(self._state.labels.names[known:])

    def test_then_train(self, X: object, labels: object, absent: object = None,
                        complete: object = True, hidden: HiddenRows | None = None,
                        ) -> PrequentialResult:
        """Learn samples and return what classify() would have returned before each of them.

        The same as classify() and learn() in turn, but as fast as learning the rows together.
        hidden: the hidden rows of X, if worked out elsewhere; those of another layer are not used.
        """
        with self._lock:
            return self._state.test_then_train(*self._check(X, labels, absent, complete), hidden)

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
        with self._lock:
            self._state.unlearn(*self._check(X, labels, absent, complete), tolerance)

    def calibrate(self, X: object, labels: object, absent: object = None,
                  complete: object = True) -> None:
        """Fit probabilities and decision to samples that were learnt, each as if left out.

        The model itself does so with a part of the samples, which it keeps; see fit_decision().
        """
        with self._lock:
            self._state.calibrate(*self._check(X, labels, absent, complete))

    def fit_decision(self) -> None:
        """Fit probabilities and decision to the samples kept for it; else done at times."""
        with self._lock:
            if (learner := self._state.learner) is not None:
                learner.decider.fit_now(learner)

    def fix_layer(self) -> None:
        """Fix a hidden layer that waits for more first samples, with those that have come."""
        with self._lock:
            self._state.fix()

    # ----- labels -----

    def add_labels(self, names: Iterable[str]) -> None:
        """Make labels known that no sample has shown; names: accepted before, those known stay."""
        with self._lock:
            for name in names:
                self._state.add_label(name)

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
        with self._lock:
            self._state.rename(self._state.labels.find(name),
                               new_name if accepted else check_label(new_name))

    def remove_label(self, name: str) -> None:
        """Forget a label; the others stay as they are.

        Raises:
            UnknownLabelError: when there is no such label.
        """
        with self._lock:
            self._state.remove(self._state.labels.find(name))

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
        from proemlc_ros.core.fleet.merging import merge_states  # A node alone merges nothing.

        theirs = other.copy()
        with self._lock:
            merge_states(self._state, theirs._state)

    def partial_sums(self, width: int | None = None) -> PartialSums:
        """Return sums without samples for this hidden layer, to be filled elsewhere.

        width: of the samples to come, where the model does not know it yet.

        Raises:
            NotReadyError: when the hidden layer is not fixed yet.
        """
        from proemlc_ros.core.fleet.sums import PartialSums

        with self._lock:
            return PartialSums.empty(self.options, self._state.layer_for(width))

    @classmethod
    def from_sums(cls, sums: PartialSums) -> ProEMLC:
        """Return a model that has learnt the samples of partial sums."""
        state = ModelState(sums.options, LabelColumns())
        state.learner, state.width, state.warmup = sums.to_learner(), sums.layer.width, None
        return cls._of(state, {})

    @classmethod
    def renewed(cls, X: object, labels: object, absent: object = None,
                complete: object = True, **more: Any) -> ProEMLC:
        """Return a model that all samples have decided on; see core/selection/renewal.py."""
        from proemlc_ros.core.selection.renewal import renewed
        return renewed(X, labels, absent, complete, **more)

    def copy(self) -> ProEMLC:
        """Return an independent copy."""
        with self._lock:
            return self._of(self._state.copy(), deepcopy(self.extra))

    def empty_copy(self) -> ProEMLC:
        """Return a model with the same settings and hidden layer that has learnt nothing."""
        with self._lock:
            return self._of(self._state.empty_copy(), {})

    # ----- storage -----

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
        check_signature(data, key, require_signature)
        return cls.from_bytes(data, max_bytes)

    @classmethod
    def from_bytes(cls, data: bytes, max_bytes: int = container.MAX_BYTES) -> ProEMLC:
        """Return the model that to_bytes() was called on."""
        header, arrays = container.unpack(data)
        return cls._of(restore(header, arrays, max_bytes), header.get('extra', {}))

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as a model file."""
        return type(self).from_bytes, (self.to_bytes(),)

    @classmethod
    def _of(cls, state: ModelState, extra: dict[str, Any]) -> ProEMLC:
        model = cls.__new__(cls)
        ModelReader.__init__(model, state, extra)
        return model
