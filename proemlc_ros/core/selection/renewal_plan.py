# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Renewal: everything chosen again, as if all samples had been known from the start.

Weights are exact in any order. The hidden layer, the settings and the decision rule of a stream
depend on what came first; here all samples decide on them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from proemlc_ros.core.deciding.calibration import LeftOut
from proemlc_ros.core.deciding.decision import fit_decision
from proemlc_ros.core.labels import indicators
from proemlc_ros.core.layer import make_layer
from proemlc_ros.core.layer.hidden import HiddenLayer
from proemlc_ros.core.layer.spreading import spread_centres
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.metrics.sets import Indicators
from proemlc_ros.core.options import Options
from proemlc_ros.core.prediction import known_of_rows
from proemlc_ros.core.rows import Rows, order_by_content
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.selection.candidates import LabelledSamples, fit_of_layer, point_of_layer
from proemlc_ros.core.selection.near_copies import find_bursts
from proemlc_ros.core.selection.result import Point, Selection
from proemlc_ros.core.selection.search import CANDIDATES, RIDGES, SIZES, Search
from proemlc_ros.errors import EmptyInputError

# Settings that the owner of a model decides on; a renewal keeps them.
KEPT = ('recalibration', 'forgetting', 'threshold', 'dtype', 'seed')
# Bursts from which scaling, centres and decision rule are taken; more would not change them.
_MOST_BURSTS = 4000
# Of them so many tell how familiar learnt samples usually are.
_FAMILIAR = 256


class RenewalPlan(NamedTuple):
    """What was chosen, before anything is learnt with it.

    Attributes:
        options: the settings.
        layer: the hidden layer.
        point: its errors with each burst left out.
        samples: the bursts.
        names: of the labels, in the order of their columns.
        selection: all that was tried.
    """

    options: Options
    layer: HiddenLayer
    point: Point
    samples: LabelledSamples
    names: tuple[str, ...]
    selection: Selection

    def point_of(self, learner: Learner) -> Point:
        """Return the errors of another model on the same bursts, with each of them left out."""
        return point_of_layer(self.samples, learner.layer, learner.options)

    def calibrate(self, learner: Learner) -> None:
        """Fit the decision of a model of this layer to the left-out scores of all bursts."""
        fit = fit_of_layer(self.samples, self.layer, self.options.ridge)
        columns = [learner.labels.columns[name] - 1 for name in self.names]
        scores = np.full((len(fit.left_out), len(learner.labels)), -np.inf)
        targets = np.full(scores.shape, -1, dtype=np.int8)
        scores[:, columns] = fit.left_out / self.samples.factors()
        said = np.where(self.samples.truth, 1, -1)
        if self.samples.known is not None:
            said[~self.samples.known] = 0
        targets[:, columns] = said
        hidden = learner.layer.rows(self.samples.rows[:_FAMILIAR])
        usual = float(known_of_rows(learner, hidden).mean())
        evidence = LeftOut(scores, targets, np.ones(len(scores)), np.full(len(scores), usual))
        counts = np.array(learner.labels.counts, dtype=np.int64)
        # By all of them: a few hundred, as in a stream, are chance where losses are so near.
        learner.decider.adopt(fit_decision(learner.options.threshold, evidence, counts,
                                           learner.layer.radial, len(scores)), learner.samples)


def plan_renewal(rows: Rows, annotations: Sequence[SampleLabels], kept: Options | None = None,
                 most: int = SIZES[-1]) -> RenewalPlan:
    """Choose settings and hidden layer by exact leave-one-out, from all samples.

    Args:
        rows: samples, in the order in which they came.
        annotations: one per sample.
        kept: settings of which those that the owner decides on are kept; None: the usual ones.
        most: hidden neurons to try at most.

    Raises:
        EmptyInputError: no sample shows a label.
    """
    names = tuple(dict.fromkeys(name for said in annotations for name in said.named))
    if not any(said.present for said in annotations):
        raise EmptyInputError('no sample shows a label; a renewal needs labels to compare '
                              'settings by')
    kept = kept or Options()
    samples = _bursts(rows.astype(np.float64, copy=False), annotations, names)
    sizes = [size for size in SIZES if size <= most] or [most]
    selection = Search(samples, kept.seed, spread=True).run(CANDIDATES, sizes, RIDGES)
    options = replace(selection.best, width=None,
                      **{name: getattr(kept, name) for name in KEPT})
    samples = replace(samples, rows=samples.rows.astype(options.dtype, copy=False))
    order = spread_centres(samples.rows, options.scaling, options.hidden_size, options.seed)
    layer = make_layer(options, rows.shape[1], samples.rows, order)
    return RenewalPlan(options, layer, point_of_layer(samples, layer, options), samples, names,
                       selection)


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
