# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The decision of a model and the samples it is fitted to, as plain arrays and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proemlc_ros.core.deciding.calibration import Calibration
from proemlc_ros.core.deciding.decision import BY_PROBABILITY, EVEN, Decision
from proemlc_ros.core.deciding.reservoir import CAPACITY, KeptSample
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.options import Options
from proemlc_ros.core.storage.checks import LARGEST_INTEGER, check, check_array, check_integer
from proemlc_ros.core.storage.container import Arrays

_COLUMNS = ('checksum', 'complete', 'own', 'born', 'times')


def dump_decisions(learner: Learner, arrays: Arrays) -> dict[str, Any]:
    """Return the header of the decision, and add its arrays."""
    decider, kept = learner.decider, learner.reservoir.samples
    _dump('decision', decider.decision, arrays)
    upcoming = decider.upcoming()
    if upcoming is not None:
        _dump('upcoming', upcoming.with_labels(len(learner.labels)), arrays)
    labels, size = len(learner.labels), learner.layer.size
    arrays['reservoir.hidden'] = np.array([sample.hidden for sample in kept],
                                          np.float32).reshape(len(kept), size)
    arrays['reservoir.targets'] = np.array([sample.targets_for(labels) for sample in kept],
                                           np.int8).reshape(len(kept), labels)
    arrays['reservoir.numbers'] = np.array(
        [[int(getattr(sample, column)) for column in _COLUMNS] for sample in kept],
        np.int64).reshape(len(kept), len(_COLUMNS))
    limit = learner.reservoir.limit
    return {'begun': decider.begun, 'due': decider.due, 'upcoming': upcoming is not None,
            'limit': limit if limit < math.inf else None}


def _dump(part: str, decision: Decision, arrays: Arrays) -> None:
    curves = decision.calibration
    arrays[f'{part}.curves'] = np.stack([curves.slopes, curves.offsets,
                                         curves.uncontrasted.astype(np.float64)])
    arrays[f'{part}.numbers'] = np.array([decision.threshold, decision.at_least, decision.empty,
                                          *curves.common, curves.usual, decision.exclusive,
                                          decision.tolerance])


def restore_decisions(learner: Learner, header: dict[str, Any], arrays: Arrays) -> None:
    """Give a learner with labels its decision back; one of an older file keeps its threshold."""
    found, rule, labels = header.get('decision'), learner.options.threshold, len(learner.labels)
    if found is None:
        _, _, threshold, at_least = arrays['thresholds.numbers'].tolist()
        decision = Decision.prior(rule).with_labels(labels)._replace(
            threshold=threshold, at_least=int(at_least))
        learner.decider.restore(decision, None, learner.samples, learner.samples)
        return
    upcoming = _restore('upcoming', rule, arrays) if found['upcoming'] else None
    learner.decider.restore(_restore('decision', rule, arrays), upcoming, found['begun'],
                            found['due'])
    rows = zip(arrays['reservoir.numbers'].tolist(), arrays['reservoir.hidden'],
               arrays['reservoir.targets'])
    learner.reservoir.restore(
        (KeptSample(checksum, hidden, targets, bool(complete), own, born, times)
         for (checksum, complete, own, born, times), hidden, targets in rows),
        math.inf if found['limit'] is None else found['limit'])


def _restore(part: str, rule: str, arrays: Arrays) -> Decision:
    slopes, offsets, uncontrasted = arrays[f'{part}.curves']
    numbers = arrays[f'{part}.numbers'].tolist()
    threshold, at_least, empty, slope, offset, usual, exclusive, tolerance = numbers
    return Decision(rule, threshold, int(at_least), empty, exclusive > 0.0, tolerance, Calibration(
        slopes, offsets, (slope, offset), uncontrasted > 0.0, usual))


def check_decisions(options: Options, header: dict[str, Any], size: int, arrays: Arrays) -> None:
    """Check the decision and the samples that are kept for it."""
    found, labels = header.get('decision'), len(header['labels'])
    if found is None:
        _check_thresholds(options, arrays)
        return
    check(isinstance(found, dict), 'decision is not an object')
    samples = header['samples']
    check_integer(found['due'], 'due')
    check(check_integer(found['begun'], 'begun') <= samples, 'a fit began with more samples')
    check(isinstance(found['upcoming'], bool), 'upcoming is neither true nor false')
    for part in ('decision', 'upcoming') if found['upcoming'] else ('decision',):
        _check_decision(options, part, labels, arrays)
    limit = found['limit']
    check(limit is None or type(limit) is float and abs(limit) <= LARGEST_INTEGER,
          'the limit of the kept samples is not a number')
    _check_reservoir(options, size, labels, samples, arrays)


def _check_decision(options: Options, part: str, labels: int, arrays: Arrays) -> None:
    slopes, offsets, uncontrasted = check_array(arrays, f'{part}.curves', '<f8', (3, labels))
    numbers = check_array(arrays, f'{part}.numbers', '<f8', (8,)).tolist()
    threshold, at_least, empty, slope, offset, usual, exclusive, tolerance = numbers
    check(bool((slopes > 0.0).all()) and slope > 0.0, 'a curve does not rise')
    check(max(np.abs(slopes).max(initial=slope), np.abs(offsets).max(initial=abs(offset))) <= 1e6,
          'a curve is too steep')
    check(bool(np.isin(uncontrasted, (0.0, 1.0)).all()), 'uncontrasted has more than 0 and 1')
    check(at_least in (0.0, 1.0) and exclusive in (0.0, 1.0)
          and 0.0 <= empty <= 1.0 and 0.0 <= tolerance < 1.0 and -1e-6 <= usual <= 1.0 + 1e-6,
          f'{part} has numbers out of range')
    check(threshold == EVEN if options.threshold in BY_PROBABILITY else -1.0 <= threshold <= 1.0,
          f'the threshold is {threshold:g}')
    check(options.threshold != 'zero' or threshold == at_least == 0.0,
          'a threshold was learnt, but the settings say zero')


def _check_reservoir(options: Options, size: int, labels: int, samples: int,
                     arrays: Arrays) -> None:
    hidden = check_array(arrays, 'reservoir.hidden', '<f4', (None, size))
    check(len(hidden) <= min(CAPACITY, samples), f'{len(hidden)} samples are kept')
    targets = check_array(arrays, 'reservoir.targets', '|i1', (len(hidden), labels))
    check(bool((np.abs(targets) <= 1).all()), 'a target is not -1, 0 or 1')
    numbers = check_array(arrays, 'reservoir.numbers', '<i8', (len(hidden), len(_COLUMNS)))
    checksums, completes, own, born, times = numbers.T
    check(bool(((checksums >= 0) & (checksums < 1 << 32)).all()), 'a checksum is out of range')
    check(bool(np.isin(completes, (0, 1)).all()), 'complete is neither 0 nor 1')
    neurons = options.hidden_size if options.radial else 0
    check(bool(((own >= -1) & (own < min(neurons, size))).all()), 'a kept sample has no neuron')
    check(bool(((born >= 0) & (born <= LARGEST_INTEGER)).all()), 'a kept sample is too young')
    check(bool((times >= 1).all()) and int(times.sum()) <= samples,
          'more samples are kept than were learnt')


def _check_thresholds(options: Options, arrays: Arrays) -> None:
    """Check the threshold of a file in which no samples are kept for it."""
    _, _, threshold, at_least = check_array(arrays, 'thresholds.numbers', '<f8', (4,)).tolist()
    check(-1.0 <= threshold <= 1.0 and at_least in (0.0, 1.0),
          f'the decision rule is {threshold:g} and {at_least:g}')
    check(options.threshold in ('learnt', 'learnt_hamming') or threshold == at_least == 0.0,
          'a threshold was learnt, but the settings say zero')
