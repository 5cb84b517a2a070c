# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewal: everything chosen again, as if all samples had been known from the start.

Weights are exact in any order. The hidden layer, the settings and the decision rule of a stream
depend on what came first; here all samples decide on them together.

A robot that stands still sees the same thing again and again. A sample that is left out while its
copies are learnt says nothing about samples to come, and a scene seen a hundred times is no reason
for a hundred neurons. So a burst of nearly equal samples counts as one, which weighs as many as it
has: it is left out as a whole, and scaling and centres see it once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from proemlc_ros.core.compiled import Array, Places
from proemlc_ros.core.deciding.left_out import Fit
from proemlc_ros.core.labels import LabelColumns, SampleLabels, check_samples, indicators
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.scaling import Scaling
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.learning import evidence_of
from proemlc_ros.core.metrics import Indicators
from proemlc_ros.core.model import ProEMLC
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, check_rows, is_sparse, order_by_content
from proemlc_ros.core.selection.candidates import (
    LabelledSamples,
    Point,
    Selection,
    evaluate_fit,
    fit_of_layer,
    point_of_layer,
)
from proemlc_ros.core.selection.search import RIDGES, SIZES, Search
from proemlc_ros.core.warmup import grown_layer
from proemlc_ros.errors import EmptyInputError


def spread_order(scaled: Array, count: int, seed: int = 0) -> Places:
    """Return the places of samples that are spread over all, by the seeding of k-means++.

    Each is drawn with a probability that grows with its squared distance to the nearest one drawn
    before (Arthur and Vassilvitskii, 2007). So a region that was seen once gets its share beside
    one that was seen a thousand times, and copies of a sample are not drawn twice.

    Args:
        scaled: dense rows, as the hidden layer scales them.
        count: how many to draw, if there are so many.
        seed: of the draws.

    Returns:
        Places of rows, none twice; copies of those drawn come last.
    """
    random = np.random.default_rng(np.random.SeedSequence(seed))
    samples = len(scaled)
    squares = np.einsum('ij,ij->i', scaled, scaled).astype(np.float64)
    # Rounding of |x|^2 - 2 xc + |c|^2 must not make copies look distant.
    noise = 1e-12 * max(1.0, float(squares.max(initial=0.0)))
    place = int(random.integers(samples))
    nearest = np.full(samples, np.inf)
    order: list[int] = []
    for _ in range(min(count, samples)):
        order.append(place)
        distances = squares - 2.0 * (scaled @ scaled[place]) + squares[place]
        np.minimum(nearest, distances, out=nearest)
        nearest[nearest < noise] = 0.0
        nearest[place] = 0.0
        total = nearest.cumsum()
        if total[-1] <= 0.0:
            break
        place = min(int(np.searchsorted(total, random.random() * total[-1], side='right')),
                    samples - 1)
    left = np.setdiff1d(np.arange(samples), order)[:max(0, count - len(order))]
    return np.concatenate([np.array(order, dtype=np.int64), left])


# Samples nearer than this share of the usual distance are copies. Neighbours of shuffled data are
# rarely nearer than 0.3, frames of one scene rarely further than 0.1.
NEAR = 0.2
# Bursts that may go on at a time, as when two things are shown in turn.
_OPEN = 8
# Share of samples that may be near their predecessors by chance: so few are no bursts.
_NEAR_BY_CHANCE = 0.01
# How many times as often samples that come in bursts are near their predecessors as near others of
# their labels; where these are mostly near each other, too, a part of them counts all the same.
_LIKELIER, _MOST = 2.0, 0.45
# Spread samples whose distances to each other are the usual ones.
_USUAL_OF = 100


class Bursts(NamedTuple):
    """Which samples stand for their bursts.

    Attributes:
        places: of these samples, rising.
        sizes: of their bursts.
    """

    places: Places
    sizes: npt.NDArray[np.float64]


def find_bursts(rows: Rows, labels: Sequence[Hashable], near: float = NEAR) -> Bursts:
    """Find the bursts in a stream of samples.

    A sample belongs to the burst of an earlier one that is near it, came shortly before and has
    the same labels. Where only few are near their predecessors, or no more than the labels alone
    explain, there are no bursts, or the order of a table, shuffled or sorted, would decide on
    them. Sparse samples are each taken for themselves.

    Args:
        rows: samples, in the order in which they came.
        labels: of each.
        near: share of the usual distance below which samples are copies.
    """
    count = rows.shape[0]
    if is_sparse(rows) or count < 3:
        return Bursts(np.arange(count), np.ones(count))
    scaled = Scaling.fit('standard', rows.shape[1], rows, 'float64').apply(
        rows.astype(np.float64, copy=False))
    by_content = order_by_content(rows)
    limit = (near * _usual_distance(scaled[by_content])) ** 2
    if not _comes_in_bursts(scaled, labels, limit, by_content):
        return Bursts(np.arange(count), np.ones(count))
    leaders: list[int] = []
    sizes: list[int] = []
    for place in range(count):
        # The burst that the previous sample belongs to is the likeliest, and last in the list.
        found = _find(scaled, labels, place, leaders[:-_OPEN - 1:-1], limit)
        if found is None:
            leaders.append(place)
            sizes.append(1)
        else:
            sizes[len(leaders) - 1 - found] += 1
    return Bursts(np.array(leaders), np.array(sizes, dtype=np.float64))


def _comes_in_bursts(scaled: Array, labels: Sequence[Hashable], limit: float,
                     by_content: Places) -> bool:
    """Tell whether samples are near their predecessors because of the order in which they came."""
    count = len(scaled)
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(label, len(numbers)) for label in labels])
    near, alike = _near_predecessor(scaled, kinds, limit)
    # The same samples sorted by their labels; shuffled first, as by content copies are together.
    mixed = by_content[np.random.default_rng(0).permutation(count)]
    mixed = mixed[np.argsort(kinds[mixed], kind='stable')]
    near_others, others = _near_predecessor(scaled[mixed], kinds[mixed], limit)
    explained = np.minimum(near_others / np.maximum(others, 1), _MOST) * alike
    excess = float(np.maximum(near - _LIKELIER * explained, 0.0).sum())
    return excess >= max(2, _NEAR_BY_CHANCE * count)


def _near_predecessor(scaled: Array, kinds: Places, limit: float) -> tuple[Places, Places]:
    """Return for each kind how many are near the one before, of the same kind; of how many."""
    alike = kinds[1:] == kinds[:-1]
    steps = np.diff(scaled, axis=0)[alike]
    near = np.einsum('ij,ij->i', steps, steps) < limit
    most, of_kind = int(kinds.max()) + 1, kinds[1:][alike]
    return np.bincount(of_kind[near], minlength=most), np.bincount(of_kind, minlength=most)


def _find(scaled: Array, labels: Sequence[Hashable], place: int, leaders: list[int],
          limit: float) -> int | None:
    """Return which of the leaders the sample is a copy of; None: of none."""
    for number, leader in enumerate(leaders):
        if labels[leader] == labels[place]:
            difference = scaled[place] - scaled[leader]
            if float(difference @ difference) < limit:
                return number
    return None


def _usual_distance(scaled: Array) -> float:
    """Return the median distance between samples that are spread over all."""
    chosen = scaled[spread_order(scaled, _USUAL_OF)]
    squares = np.einsum('ij,ij->i', chosen, chosen)
    between = (squares[:, np.newaxis] + squares - 2.0 * chosen @ chosen.T)[
        np.triu_indices(len(chosen), 1)]
    return float(np.sqrt(max(0.0, np.median(between))))


# Settings that the owner of a model decides on; a renewal keeps them.
KEPT = ('recalibration', 'forgetting', 'adaptive', 'threshold', 'dtype', 'seed')
# Weight of a sample below which it does not decide on the settings of a model that forgets.
_FADED = 0.05
# Bursts from which scaling, centres and decision rule are taken; more would not change them.
_MOST_BURSTS = 4000
# What a layer that grows may lose of the left-out F1 against one that is fixed.
_AS_GOOD = 0.01


class RenewalPlan(NamedTuple):
    """What was chosen, before anything is learnt with it.

    Attributes:
        options: the settings.
        layer: the hidden layer.
        fit: its scores of the bursts, with each left out.
        point: its errors by these.
        samples: the bursts.
        names: of the labels, in the order of their columns.
        selection: all that was tried.
        grows: whether there are fewer samples than neurons to come: the layer of the model grows
            with its samples, by these settings.
    """

    options: Options
    layer: HiddenLayer
    fit: Fit
    point: Point
    samples: LabelledSamples
    names: tuple[str, ...]
    selection: Selection
    grows: bool = False

    @property
    def per_label(self) -> float:
        """How many bursts show a label on average."""
        return float(self.samples.truth.sum() / max(len(self.names), 1))

    def calibrate(self, learner: Learner) -> None:
        """Fit the decision of a model of this plan to the left-out scores of all bursts.

        Where annotations are incomplete, to those of the samples that it keeps, as a burst may
        tell a label in one of its samples alone. Likewise where it forgets.
        """
        if self.samples.known is not None or self.options.forgets:
            learner.decider.fit_now(learner)
            return
        rows = self.samples.rows
        said = [SampleLabels(tuple(compress(self.names, shown))) for shown in self.samples.truth]
        evidence = evidence_of(learner, rows, said)
        if self.samples.weights is not None and self.samples.weights.max() > 1.0:
            # With all of its burst; the model leaves out the one sample.
            fit = (self.fit if learner.layer is self.layer
                   else fit_of_layer(self.samples, learner.layer, self.options.ridge))
            evidence.scores[:, [learner.labels.columns[name] - 1 for name in self.names]] = (
                fit.left_out / self.samples.factors())
        learner.decider.fit_to(learner, rows, evidence)


def plan_renewal(rows: Rows, annotations: Sequence[SampleLabels], kept: Options | None = None,
                 most: int = SIZES[-1], alike: bool = False) -> RenewalPlan:
    """Choose settings and hidden layer by exact leave-one-out, from all samples.

    Args:
        rows: samples, in the order in which they came.
        annotations: one per sample.
        kept: settings of which those that the owner decides on are kept; None: the usual ones.
        most: hidden neurons to try at most.
        alike: whether the features share one scale, so that none is scaled by itself; rows of
            length one show it themselves.

    Raises:
        EmptyInputError: no sample shows a label.
    """
    names = tuple(dict.fromkeys(name for said in annotations for name in said.named))
    kept = kept or Options()
    if kept.forgetting < 1.0:
        recent = -math.ceil(math.log(_FADED) / math.log(kept.forgetting))
        rows, annotations = rows[recent:], annotations[recent:]
    if not any(said.present for said in annotations):
        raise EmptyInputError('no sample shows a label; a renewal needs labels to compare '
                              'settings by')
    samples = _bursts(rows.astype(np.float64, copy=False), annotations, names)
    young = rows.shape[0] < most
    sizes = [len(samples)] if young else [size for size in SIZES if size <= most] or [most]
    search = Search(samples, kept.seed, by_label=True, alike=alike)
    selection = search.run(None, sizes, RIDGES)
    options = replace(selection.best, width=None,
                      **{name: getattr(kept, name) for name in KEPT})
    samples = replace(samples, rows=samples.rows.astype(options.dtype, copy=False))
    layer, fit = search.fit(options)
    point = evaluate_fit(options, fit, samples, samples.targets())
    fixed = RenewalPlan(options, layer, fit, point, samples, names, selection)
    return _growing(fixed, rows, most) if young else fixed


def _growing(fixed: RenewalPlan, rows: Rows, hidden_size: int) -> RenewalPlan:
    """Return the plan of a layer that grows with all samples to come, unless bursts make it worse.

    It is where the first samples are bursts of a few things, since they all become centres. Where
    there are no bursts, a fixed layer that seems better is so by chance, and labels to come would
    have no neurons.
    """
    options = replace(fixed.options, hidden_size=hidden_size)
    layer, _ = grown_layer(options, rows.astype(options.dtype, copy=False))
    fit = fit_of_layer(fixed.samples, layer, options.ridge)
    point = evaluate_fit(options, fit, fixed.samples, fixed.samples.targets())
    if (len(fixed.samples) < rows.shape[0]
            and point.left_out_f1 < fixed.point.left_out_f1 - _AS_GOOD):
        return fixed
    return fixed._replace(options=options, layer=layer, fit=fit, point=point, grows=True)


def _bursts(rows: Rows, annotations: Sequence[SampleLabels],
            names: Sequence[str]) -> LabelledSamples:
    """Return one sample for each burst; of very many bursts some, drawn by their content."""
    bursts = find_bursts(rows, annotations)
    # By their content, so that what is drawn does not depend on the order of the stream.
    drawn = order_by_content(rows[bursts.places])[:_MOST_BURSTS]
    places = bursts.places[drawn]
    some = [annotations[place] for place in places]
    columns = {name: column for column, name in enumerate(names)}
    truth = indicators([said.present for said in some], columns, len(names))
    return LabelledSamples(rows[places], truth, bursts.sizes[drawn],
                           _known(some, truth, columns))


def _known(annotations: Sequence[SampleLabels], truth: Indicators,
           columns: dict[str, int]) -> Indicators | None:
    if all(said.complete for said in annotations):
        return None
    absent = indicators([() if said.complete else said.absent for said in annotations], columns,
                        truth.shape[1])
    complete = np.array([said.complete for said in annotations])
    known: Indicators = truth | absent | complete[:, np.newaxis]
    return known


# What another model must lose of the left-out F1 to be replaced; less is chance.
_CLEARLY = 0.005
# Samples that the best of many candidates may have right by chance.
_BY_CHANCE = 2.0
# The deviation of one sample's F1 between two models, by which their difference is uncertain.
_ERROR = 0.3
# What it may gain of the F1 by chance where labels have one sample each; of n each, 1/n of it.
_BY_CHANCE_OF_LABELS = 0.15
# Standard errors by which squared error and F1 together must be better where the F1 alone does not
# tell; the best of many candidates leads by one or two of them by chance.
_SURE = 3.0


def renewed(X: object, labels: object, absent: object = None, complete: object = True,
            names: Iterable[str] = (), kept: Options | None = None,
            most: int = 1000) -> ProEMLC:
    """Return a model that all samples have decided on, in whatever order they came.

    Settings, centres, scaling and decision rule are chosen by leave-one-out, where bursts of
    nearly equal samples count as one; then all samples are learnt.

    Args:
        X: rows (n, width), in the order in which they came.
        labels: as for ProEMLC.learn(); likewise absent and complete.
        absent: see labels.
        complete: see labels.
        names: labels whose columns come first.
        kept: settings of which recalibration, forgetting, threshold, dtype and seed are kept.
        most: hidden neurons at most.

    Raises:
        InputError, LabelError: when the samples cannot be used, or show no label.

    >>> X = [[0.0, 0.1 * n] for n in range(20)] + [[1.0, 0.1 * n] for n in range(20)]
    >>> model = renewed(X, [['left']] * 20 + [['right']] * 20)
    >>> model.samples, model.predict([[0.9, 1.0]])
    (40, [('right',)])
    """
    kept = kept or Options()
    rows, annotations = check_samples(X, labels, absent, complete, None, kept.dtype, ())
    plan = plan_renewal(rows, annotations, kept, most)
    model = begin_renewal(plan, names)
    model.learn(rows, annotations)
    end_renewal(plan, model)
    return model


def begin_renewal(plan: RenewalPlan, names: Iterable[str] = ()) -> ProEMLC:
    """Return a model by the plan that has learnt nothing yet; names: of its first columns."""
    if plan.grows:
        return ProEMLC._of(ModelState(plan.options, LabelColumns(list(names))), {})
    return ProEMLC._of(ModelState.with_learner(Learner(plan.options, plan.layer, names)), {})


def end_renewal(plan: RenewalPlan, model: ProEMLC) -> None:
    """Find the decision rule of a model by the plan that has learnt all samples."""
    with model._lock:
        if model._state.learner is not None:
            plan.calibrate(model._state.learner)


def left_out_point(plan: RenewalPlan, running: ProEMLC) -> Point | None:
    """Return the errors of another model on the samples of the plan, each burst left out.

    None where it has learnt nothing, or samples of another width.
    """
    with running._lock:
        learner = running._state.learner
        if learner is None or learner.layer.width != plan.layer.width:
            return None
        return point_of_layer(plan.samples, learner.layer, learner.options)


def is_better(point: Point, running: Point | None, samples: int, per_label: float,
              needed: bool = False) -> bool:
    """Tell whether a renewed model is worth a swap.

    The best of many candidates wins a sample or two by chance, and more of them the fewer samples
    each label has: a setting that suits these few need not suit what is to come. The difference of
    two models itself is uncertain by the root of the number of samples. So the margin grows as
    samples, and samples per label, get fewer. The squared error of the same samples tells more
    than their F1, which turns on the few near a threshold: where it is lower beyond doubt, that is
    enough. The difference in F1 adds to its evidence, or takes from it, in its own standard
    errors; a gain counts no more than the squared error.

    Args:
        point: of the renewed model.
        running: of the running one; None: it has none.
        samples: that both were judged by.
        per_label: of these, how many show a label on average.
        needed: whether the running one has no neurons for some labels, so that it is enough not
            to be worse.
    """
    if running is None:
        return True
    if needed:
        return point.left_out_f1 >= running.left_out_f1 - _CLEARLY
    lead, gain = point.lead(running), point.left_out_f1 - running.left_out_f1
    error = _ERROR / math.sqrt(samples)
    if lead + min(gain / error, lead) > _SURE:
        return True
    gain -= _BY_CHANCE / samples + error + _BY_CHANCE_OF_LABELS / max(per_label, 1.0)
    return gain > _CLEARLY or gain >= 0.0 and point.left_out_square < running.left_out_square


def plan_for(X: object, annotations: Sequence[SampleLabels], kept: Options | None = None,
             most: int = 1000, alike: bool = False) -> RenewalPlan:
    """Return the plan of a renewal for samples whose annotations were accepted before.

    alike: whether the features share one scale; see plan_renewal().
    """
    kept = kept or Options()
    return plan_renewal(check_rows(X, None, kept.dtype), annotations, kept, most, alike)
