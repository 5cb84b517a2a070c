# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A hidden layer that grows: one more neuron around every sample that is unlike the others.

M and the weights follow exactly. With H the hidden rows of the samples so far and c the answers of
the new neuron to them, H^T H + ridge I gets one more row and column. Its inverse follows by the
ridge regression of c on H: u = M H^T c, and the Schur complement is |c|^2 - c^T H u + ridge. Where
the ridge is small, it is |e|^2 + ridge |u|^2 + ridge with e = c - H u, which has no difference of
large numbers and one more product with H.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.label_groups import Mask
from proemlc_ros.core.labels import SampleLabels
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.radial import RadialNeurons
from proemlc_ros.core.learner import CachedSample, Learner
from proemlc_ros.core.learning import learn_rows
from proemlc_ros.core.options import Options
from proemlc_ros.core.ridge import RecursiveRidge, with_entry
from proemlc_ros.core.rows import Rows, dense_rows, is_sparse
from proemlc_ros.core.sample_filter import labelled_checksums


class WarmUp:
    """Keeps the first samples until the layer is complete.

    Until then every sample that is not nearly a copy of a centre becomes the centre of a neuron.
    Scaling and width of the neurons are fitted to the first samples, again whenever these have
    doubled, and all of them are learnt again then. So at any time the model is what it would be
    had its layer been there from the start, however the samples were divided into chunks.

    Args:
        needed: samples to which scaling and width are fitted, those before and after being halves
            and multiples of them.
        parts: rows kept already.
        annotations: of these.
    """

    def __init__(self, needed: int, parts: tuple[Rows, ...] = (),
                 annotations: tuple[SampleLabels, ...] = ()) -> None:
        self.needed = needed
        self.parts = parts
        self.annotations = annotations

    def __len__(self) -> int:
        """Return how many samples are kept."""
        return len(self.annotations)

    @property
    def refits(self) -> bool:
        """Whether scaling and width are fitted again with the next sample."""
        return fitted_samples(len(self) + 1, self.needed) != fitted_samples(len(self), self.needed)

    def plus(self, rows: Rows, annotations: list[SampleLabels]) -> WarmUp:
        """Return the same with copies of more samples."""
        return self._with((*self.parts, rows.copy()), (*self.annotations, *annotations))

    def minus(self, row: Rows, annotation: SampleLabels) -> WarmUp | None:
        """Return the same without the last sample that equals this one; None: there is none."""
        place = self._find(row, annotation)
        if place is None:
            return None
        others = [other for other in range(len(self)) if other != place]
        return self._with((self.rows()[others],),
                          self.annotations[:place] + self.annotations[place + 1:])

    def renamed(self, name: str, new_name: str | None) -> WarmUp:
        """Return the same with another name for a label; None: without the label."""
        def changed(names: tuple[str, ...]) -> tuple[str, ...]:
            replaced = (new_name if other == name else other for other in names)
            return tuple(other for other in replaced if other is not None)

        return self._with(self.parts, tuple(
            SampleLabels(changed(present), changed(absent), complete)
            for present, absent, complete in self.annotations))

    def rows(self) -> Rows:
        """Return the kept samples as rows; sparse if any of them came so."""
        if len(self.parts) > 1:
            self.parts = (_stack(self.parts),)
        return self.parts[0]

    @property
    def memory_bytes(self) -> int:
        """The memory of the kept samples."""
        return sum(part.data.nbytes for part in self.parts)

    def _with(self, parts: tuple[Rows, ...], annotations: tuple[SampleLabels, ...]) -> WarmUp:
        return WarmUp(self.needed, parts, annotations)

    def _find(self, row: Rows, annotation: SampleLabels) -> int | None:
        wanted = _meaning(annotation)
        for place in range(len(self) - 1, -1, -1):
            if _meaning(self.annotations[place]) == wanted and _equal(
                    self.rows()[place:place + 1], row):
                return place
        return None


def fitted_samples(count: int, needed: int) -> int:
    """Return to how many of so many samples scaling and width are fitted.

    Counted by doubling and halving from the number needed, so that they are fitted to all of
    these at last, and not just before.
    """
    fitted = needed
    while 2 * fitted <= count:
        fitted *= 2
    while fitted > count:
        fitted = -(-fitted // 2) if fitted > 1 else 0
    return fitted


def _meaning(annotation: SampleLabels) -> tuple[frozenset[str], frozenset[str], bool]:
    return frozenset(annotation.present), frozenset(annotation.absent), annotation.complete


def _stack(parts: tuple[Rows, ...]) -> Rows:
    if not any(map(is_sparse, parts)):
        return np.concatenate(parts)
    from scipy import sparse
    return sparse.vstack([sparse.csr_matrix(part) for part in parts], format='csr')


def _equal(one: Rows, other: Rows) -> bool:
    if not is_sparse(one) and not is_sparse(other):
        return bool(np.array_equal(one, other))
    from scipy import sparse
    return bool((sparse.csr_matrix(one) != sparse.csr_matrix(other)).nnz == 0)


# Samples up to which the decision is fitted with each of them.
_YOUNG = 32
# Below it the rounding errors of M matter.
_SMALL_RIDGE = 1e-3


def grown_layer(options: Options, samples: Rows) -> tuple[HiddenLayer, int]:
    """Return the layer that has grown with the first samples.

    Returns:
        The layer, and with how many samples it was complete; 0: it is not.
    """
    count, width = samples.shape
    needed, most = options.warmup_samples, options.most_kept
    if count < needed:
        return make_layer(options, width, samples, fitted=fitted_samples(count, needed)), 0
    fitted = needed
    while fitted < most:
        layer = make_layer(options, width, samples[:2 * fitted - 1], fitted=fitted)
        if layer.neurons >= options.hidden_size:
            return layer, max(fitted, layer.reach)
        if count < 2 * fitted:
            return layer, 0
        fitted *= 2
    return make_layer(options, width, samples[:most]), most


def learnt_again(options: Options, names: Iterable[str],
                 warmup: WarmUp, in_stream: bool) -> tuple[Learner, int, KeptRows | None]:
    """Return a learner that has learnt the kept samples with the layer that grew with them.

    Args:
        options: settings.
        names: of labels known from the start.
        warmup: the samples.
        in_stream: all but the last of them were learnt before.

    Returns:
        The learner, with how many samples its layer was complete, 0: it is not, and what is known
        of the rows for the layer to grow on.
    """
    rows, annotations = warmup.rows(), list(warmup.annotations)
    layer, complete = grown_layer(options, rows)
    grown = complete or len(warmup)
    first = fitted_samples(grown, options.warmup_samples)
    if not options.radial or options.forgetting == 1.0 or first == grown:
        learner = Learner(options, layer, names)
        hidden = _drawn_rows(layer, rows)
        learn_rows(learner, rows, annotations, hidden=hidden, in_stream=in_stream)
        kept = None
        if isinstance(layer, RadialNeurons):
            kept = None if complete else KeptRows(learner, rows, annotations, hidden)
            layer.drawn = None
        return learner, complete, kept
    # With forgetting it matters when a neuron came.
    learner = Learner(options, make_layer(options, rows.shape[1], rows[:first]), names)
    learn_rows(learner, rows[:first], annotations[:first])
    kept = KeptRows(learner, rows[:first], annotations[:first])
    for place in range(first, grown):
        if not grow(learner, kept, rows[place:place + 1], annotations[place]):
            learn_rows(learner, rows[place:place + 1], annotations[place:place + 1])
    if grown < len(annotations):
        learn_rows(learner, rows[grown:], annotations[grown:])
    return learner, complete, None if complete else kept


def _drawn_rows(layer: HiddenLayer, rows: Rows) -> Array | None:
    """Return the hidden rows of the samples that a layer was made of, where they are known."""
    if (not isinstance(layer, RadialNeurons) or layer.drawn is None or layer.options.direct_links
            or len(layer.drawn.neurons) != rows.shape[0]):
        return None
    hidden: Array = np.ones((rows.shape[0], layer.size), dtype=layer.options.dtype)
    hidden[:, :layer.neurons] = layer.drawn.neurons
    return hidden


class KeptRows:
    """The hidden rows of the kept samples of a learner whose layer grows.

    Args:
        learner: has learnt them.
        rows: the samples.
        annotations: one per sample.
        known: their hidden rows; None: not worked out yet.
    """

    def __init__(self, learner: Learner, rows: Rows, annotations: Sequence[SampleLabels],
                 known: Array | None = None) -> None:
        layer = learner.layer
        assert isinstance(layer, RadialNeurons)
        hidden = layer.rows(rows) if known is None else known
        self._count, self._neurons = len(hidden), layer.neurons
        # Neurons, and what follows them in a hidden row, in memory with room to grow.
        self._store: Array = np.empty((0, 0), hidden.dtype)
        self._reserve(self._count, self._neurons, hidden[:, :self._neurons])
        self._others = [hidden[:, self._neurons:]]
        self._targets: Array = np.empty((0, 0), hidden.dtype)
        self.annotations = list(annotations)
        self.checksums = labelled_checksums(learner, rows, self.annotations)
        # Which neuron is around each sample; -1: none, since it is nearly a copy of another.
        centres = layer.places_of_centres(rows) if layer.drawn is None else layer.drawn.centres
        self._own = np.full(self._count, -1, dtype=np.int64)
        self._own[centres[centres >= 0]] = np.flatnonzero(centres >= 0)
        self._copies = [dense_rows(rows[place:place + 1])[0] if own < 0 else None
                        for place, own in enumerate(self._own.tolist())]

    def __len__(self) -> int:
        """Return the number of samples."""
        return self._count

    @property
    def neurons(self) -> Array:
        """The neurons (n, neurons) of the hidden rows."""
        return self._store[:self._count, :self._neurons]

    @property
    def others(self) -> Array:
        """What follows the neurons: direct links and bias."""
        if len(self._others) > 1:
            self._others = [np.concatenate(self._others)]
        return self._others[0]

    def targets(self, learner: Learner) -> Array:
        """Return the targets (n, 1 + labels); 0: unknown."""
        outputs, known = len(learner.labels) + 1, self._targets
        if known.shape[1] != outputs or len(known) < self._count:
            self._targets = np.empty((len(self._store), outputs), self._store.dtype)
            self._targets[:self._count] = [learner.targets(annotation)
                                           for annotation in self.annotations]
        return self._targets[:self._count]

    def column(self, layer: RadialNeurons, vector: Array, answers: Array) -> Array:
        """Return how a neuron around a sample answers to the kept ones.

        Args:
            layer: without that neuron.
            vector: the sample, dense.
            answers: of the neurons to it, which are those of its neuron to their centres.
        """
        found: Array = np.empty(self._count, answers.dtype)
        around = self._own >= 0
        found[around] = answers[self._own[around]]
        if not around.all():
            copies = np.array([row for row in self._copies if row is not None])
            found[~around] = layer.answers_around(vector, copies)
        return found

    def add_neuron(self, column: Array) -> None:
        """Take note of the answers of one more neuron."""
        self._reserve(self._count, self._neurons + 1)
        self._store[:self._count, self._neurons] = column
        self._neurons += 1

    def add(self, learner: Learner, vector: Array, hidden: Array, annotation: SampleLabels,
            checksum: int, own: int) -> None:
        """Keep one more sample; own: the neuron around it, -1: none."""
        self._reserve(self._count + 1, self._neurons)
        self._store[self._count, :self._neurons] = hidden[:self._neurons]
        self._others.append(hidden[np.newaxis, self._neurons:])
        if self._targets.shape[1] == len(learner.labels) + 1 and self._count < len(self._targets):
            self._targets[self._count] = learner.targets(annotation)
        self._count += 1
        self.annotations.append(annotation)
        self.checksums.append(checksum)
        self._own = np.append(self._own, own)
        self._copies.append(vector.copy() if own < 0 else None)

    def products(self, column: Array) -> Array:
        """Return H^T c of a column with one entry per sample."""
        return np.concatenate([column @ self.neurons, column @ self.others])

    def combined(self, weights: Array) -> Array:
        """Return H u of weights with one entry per column."""
        return self.neurons @ weights[:self._neurons] + self.others @ weights[self._neurons:]

    def hidden_by_checksum(self) -> dict[int, Array]:
        """Return the hidden rows as the reservoir keeps them."""
        rows = np.concatenate([self.neurons, self.others], axis=1, dtype=np.float32,
                              casting='same_kind')
        return dict(zip(self.checksums, rows, strict=True))

    def _reserve(self, count: int, neurons: int, content: Array | None = None) -> None:
        rows, columns = self._store.shape
        if count > rows or neurons > columns:
            store = np.empty((max(count + count // 4 + 16, rows),
                              max(neurons + neurons // 4 + 16, columns)), self._store.dtype)
            if content is None:
                content = self._store[:self._count, :self._neurons]
            store[:content.shape[0], :content.shape[1]] = content
            self._store = store


def grow(learner: Learner, kept: KeptRows, row: Rows, annotation: SampleLabels) -> bool:
    """Learn one sample, with a neuron around it unless it is nearly a copy of another.

    Returns:
        Whether it was learnt. Where not, nothing has changed, and the layer has to be made again:
        the sample may be too large, or labels are learnt approximately.
    """
    vector = dense_rows(row)[0]
    layer, sample = learner.layer, learner.cached_sample(vector)
    assert isinstance(layer, RadialNeurons)
    hidden, own = sample.hidden, -1
    groups = learner.groups
    # What is left to the diagonal is a small difference, beyond the precision of float32.
    if (learner.options.recalibration != 'exact' or learner.options.dtype != 'float64'
            or not learner.ridge.always_accepts(float(hidden.dot(hidden)) + 1.0)
            or groups is not None and groups.approximate(len(learner.labels) + 1)):
        return False
    if layer.neurons < learner.options.hidden_size:
        answers = layer.answers(hidden)
        if not layer.is_near(answers, vector):
            own = layer.neurons
            column = kept.column(layer, vector, answers)
            grown, weights, factor = layer.with_centre(vector, hidden)
            entry = 1.0
            if len(weights):
                column = (column - kept.neurons @ weights) * factor
                entry = (1.0 - float(weights.dot(weights))) * factor
            _add_neuron(learner, kept, column, grown)
            hidden = with_entry(hidden, own, entry)
            learner.forget_cached()
            sample = CachedSample(b'', hidden)
    checksum, = labelled_checksums(learner, row, [annotation])
    learner.learn_hidden(sample, annotation, checksum)
    learner.sample_filter.add(checksum)
    if learner.decider.begun < learner.samples <= _YOUNG:
        learner.decider.fit_now(learner)  # As if all had come together.
    kept.add(learner, vector, hidden, annotation, checksum, own)
    return True


def _add_neuron(learner: Learner, kept: KeptRows, column: Array, layer: RadialNeurons) -> None:
    """Let a learner have a layer with one more neuron; column: its entries in the kept rows."""
    place, forgetting = learner.layer.neurons, learner.options.forgetting
    weights: Array = (np.ones(len(kept)) if forgetting == 1.0
                      else forgetting ** np.arange(len(kept) - 1, -1, -1.0))
    targets = kept.targets(learner)
    _add_entry(learner.ridge, place, kept, column, weights, targets)
    for group in learner.groups or ():
        informed: Mask = targets[:, group.columns[0]] != 0.0
        _add_entry(group.ridge, place, kept, column, weights * informed,
                   targets[:, group.columns])
        group.publish(learner.ridge)
    learner.layer = layer
    learner.mass += float(column @ column)
    learner.last_sum = with_entry(learner.last_sum, place, float(column[-1]))
    learner.buffer = np.empty((0, layer.size), dtype=learner.options.dtype)
    kept.add_neuron(column)
    learner.reservoir.follow(kept.hidden_by_checksum)


def _add_entry(ridge: RecursiveRidge, place: int, kept: KeptRows, column: Array, weights: Array,
               targets: Array) -> None:
    """Give the hidden rows of one recursion another entry; weights: of the rows, 0: not learnt."""
    weighted = weights * column
    products = kept.products(weighted)
    gain, explained = ridge.gain(products)
    if ridge.ridge < _SMALL_RIDGE:
        # M carries rounding errors of eps / ridge; one step of refinement takes them out.
        penalty, left = ridge.penalty(), column - kept.combined(gain)
        gain = gain + ridge.gain(kept.products(weights * left) - penalty * gain)[0]
        left = column - kept.combined(gain)
        rest = float(weights * left @ left + gain @ (penalty * gain)) + ridge.ridge
        shares = weights * left @ targets
    else:
        rest = float(weighted @ column) - explained + ridge.ridge
        # M^-1 times the weights is H^T T, so that this is the product with what is left of c.
        shares = weighted @ targets - products @ ridge.beta
    ridge.add_entry(place, gain, rest, shares / rest)
