# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model as a JSON header and plain arrays, and back, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.calibration import Calibration
from proemlc_ros.core.deciding.decider import KeptSample
from proemlc_ros.core.deciding.decision import Decision
from proemlc_ros.core.deciding.novelty import NoveltyScale
from proemlc_ros.core.label_groups import LabelGroup, LabelGroups
from proemlc_ros.core.labels import LabelColumns, SampleLabels
from proemlc_ros.core.layer import restore_layer
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.model_state import ForgettingChoice, ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.ridge import ForgettingRidge, RecursiveRidge
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.sample_filter import LabelTokens
from proemlc_ros.core.storage.container import MAX_BYTES, Arrays
from proemlc_ros.core.storage.schema import RESERVOIR_COLUMNS, check_beside, check_model
from proemlc_ros.core.warmup import WarmUp
from proemlc_ros.errors import CorruptModelError, ModelFileError


def dump(state: ModelState,
         choice: ForgettingChoice | None = None) -> tuple[dict[str, Any], Arrays]:
    """Return everything that makes up a model, and those beside it that forget at other rates."""
    header, arrays = _dump_state(state)
    if choice is not None:
        beside = [_dump_state(other) for other in choice]
        header['beside'] = {'losses': choice.losses, 'seen': choice.seen,
                            'models': [part for part, _ in beside]}
        for place, (_, more) in enumerate(beside):
            arrays.update({f'beside{place}.{name}': array for name, array in more.items()})
    return header, arrays


def _dump_state(state: ModelState) -> tuple[dict[str, Any], Arrays]:
    header: dict[str, Any] = {
        'options': state.options.as_dict(), 'width': state.width,
        'first_labels': state.first_labels.names, 'learner': None, 'warmup': None,
        'complete_at': state.complete_at}
    arrays: Arrays = {}
    if state.learner is not None:
        header['learner'] = _dump_learner(state.learner, arrays)
    if state.warmup is not None:
        header['warmup'] = {**_dump_warmup(state.warmup, arrays), 'grows': state.grows}
    return header, arrays


def restore(header: dict[str, Any], arrays: Arrays, max_bytes: int = MAX_BYTES,
            ) -> tuple[ModelState, ForgettingChoice | None]:
    """Make a model again from what dump() returned, and those beside it.

    Args:
        header: of the file.
        arrays: by name.
        max_bytes: memory that the settings may ask for where no weights are in the file.

    Raises:
        CorruptModelError: when header and arrays do not fit together.
        ModelTooLargeError: when the settings ask for more memory than allowed.
    """
    try:
        beside = check_beside(header)
        state = _restore_state(header, arrays, max_bytes)
        if beside is None:
            return state, None
        return state, ForgettingChoice(
            [_restore_state(part, _part(f'beside{place}', arrays), max_bytes)
             for place, part in enumerate(beside['models'])],
            list(map(float, beside['losses'])), beside['seen'])
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CorruptModelError(
            f'the parts of the model do not fit together: {error!r}') from error


def _restore_state(header: dict[str, Any], arrays: Arrays, max_bytes: int) -> ModelState:
    options = check_model(header, arrays, max_bytes)
    state = ModelState(options, LabelColumns(header['first_labels']))
    state.width = header['width']
    if header['learner'] is not None:
        state.learner = _restore_learner(state.options, header['learner'], arrays)
    state.warmup = None
    # Earlier versions did not say so.
    state.complete_at = header.get('complete_at', options.warmup_samples)
    if header['warmup'] is not None:
        state.warmup = _restore_warmup(state.options, header['warmup'], arrays)
        state.complete_at = 0
        state.grows = header['warmup'].get('grows', False)
    return state


def _dump_learner(learner: Learner, arrays: Arrays) -> dict[str, Any]:
    ridge = learner.ridge
    arrays['matrix'] = pack_triangle(ridge.matrix)
    arrays['pending'] = ridge.pending_store[:, :ridge.pending].copy(order='F')
    arrays['beta'] = ridge.beta.copy(order='F')
    arrays['last_sum'] = learner.last_sum.copy()
    if isinstance(ridge, ForgettingRidge):
        arrays['prior'] = ridge.prior.copy()
    arrays.update({f'layer.{name}': array.copy()
                   for name, array in learner.layer.arrays().items()})
    places = np.flatnonzero(learner.sample_filter.counts)
    arrays['ledger.places'] = places.astype(np.uint32)
    arrays['ledger.counts'] = learner.sample_filter.counts[places]
    tokens = learner.tokens
    header = {'labels': learner.labels.names, 'counts': learner.labels.counts,
              'samples': learner.samples, 'mass': learner.mass, 'scale': ridge.scale,
              'steps': getattr(ridge, 'steps', 0), 'decision': _dump_decisions(learner, arrays),
              'tokens': {'given': tokens.given, 'removed': tokens.removed,
                         'nameless': tokens.nameless}}
    if learner.groups is not None:
        header['groups'] = _dump_groups(learner.groups, arrays)
    return header


def _restore_learner(options: Options, header: dict[str, Any], arrays: Arrays) -> Learner:
    layer = restore_layer(options, _part('layer', arrays))
    learner = Learner(options, layer)
    learner.labels = LabelColumns(header['labels'], header['counts'])
    learner.samples, learner.mass = header['samples'], header['mass']
    learner.last_sum = arrays['last_sum']
    _restore_decisions(learner, header, arrays)
    learner.sample_filter.counts[arrays['ledger.places']] = arrays['ledger.counts']
    _restore_ridge(learner.ridge, header, arrays)
    # Earlier versions recorded samples without their labels.
    tokens = header.get('tokens', {'given': {}, 'removed': [], 'nameless': True})
    learner.tokens = LabelTokens({name: tuple(given) for name, given in tokens['given'].items()},
                                 tuple(tokens['removed']), tokens['nameless'])
    if 'groups' in header:
        learner.groups = _restore_groups(learner, header['groups'], arrays)
    _check_answers(learner)
    return learner


def _check_answers(learner: Learner) -> None:
    """Check that the model answers to usual input, and to none, with finite numbers."""
    scaling = learner.layer.scaling
    usual = np.stack([np.zeros_like(scaling.shift), scaling.shift,
                      scaling.shift + 1.0 / scaling.factor])
    with np.errstate(all='ignore'):
        hidden = learner.layer.rows(usual)
        answers = learner.ridge.outputs_of_rows(hidden), learner.ridge.gains(hidden)
    if not all(np.isfinite(answer).all() for answer in answers):
        raise CorruptModelError('the model answers to usual features with NaN or infinity')


def _restore_ridge(ridge: RecursiveRidge, header: dict[str, Any], arrays: Arrays) -> None:
    unpack_triangle(arrays['matrix'], ridge.matrix)
    ridge.pending = arrays['pending'].shape[1]
    ridge.pending_store[:, :ridge.pending] = arrays['pending']
    ridge.set_beta(arrays['beta'])
    ridge.scale = header['scale']
    if isinstance(ridge, ForgettingRidge):
        ridge.prior, ridge.steps = arrays['prior'], header['steps']


def _dump_warmup(warmup: WarmUp, arrays: Arrays) -> dict[str, Any]:
    header = {'needed': warmup.needed, 'kept': len(warmup), 'sparse': False,
              'annotations': [list(annotation) for annotation in warmup.annotations]}
    if len(warmup):
        rows = warmup.rows()
        header['sparse'] = is_sparse(rows)
        parts = ('data', 'indices', 'indptr') if header['sparse'] else ()
        arrays.update({f'warmup.{part}': getattr(rows, part).copy() for part in parts})
        if not parts:
            arrays['warmup.rows'] = rows.copy()
    return header


def _restore_warmup(options: Options, header: dict[str, Any], arrays: Arrays) -> WarmUp:
    annotations = tuple(SampleLabels(tuple(present), tuple(absent), complete)
                        for present, absent, complete in header['annotations'])
    rows: Rows = None
    if header['kept'] and header['sparse']:
        from scipy import sparse
        width = len(arrays['layer.shift'])
        rows = sparse.csr_matrix(tuple(_part('warmup', arrays)[part]
                                       for part in ('data', 'indices', 'indptr')),
                                 shape=(header['kept'], width))
    elif header['kept']:
        rows = arrays['warmup.rows']
    return WarmUp(header['needed'], (rows,) if header['kept'] else (), annotations)


def _part(part: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(f'{part}.'): array for name, array in arrays.items()
            if name.startswith(f'{part}.')}


def _dump_groups(groups: LabelGroups, arrays: Arrays) -> dict[str, Any]:
    """Return plain values of the groups; their arrays are added. Weights are in the table."""
    ridges = [group.ridge for group in groups]
    arrays['groups.matrix'] = np.stack([pack_triangle(ridge.matrix) for ridge in ridges])
    arrays['groups.pending'] = np.concatenate(
        [ridge.pending_store[:, :ridge.pending].T for ridge in ridges])
    if isinstance(ridges[0], ForgettingRidge):
        arrays['groups.prior'] = np.stack([ridge.prior for ridge in ridges
                                           if isinstance(ridge, ForgettingRidge)])
    return {'key': groups.key, 'partial': groups.partial, 'parts': [
        {'columns': group.columns, 'key': group.key, 'partial': group.partial,
         'pending': group.ridge.pending, 'scale': group.ridge.scale} for group in groups]}


def _restore_groups(learner: Learner, header: dict[str, Any], arrays: Arrays) -> LabelGroups:
    """Make the groups again from what _dump_groups() returned, for a learner with its weights."""
    table = learner.ridge
    groups = LabelGroups(table, learner.options.group_limit(table.size))
    start = 0
    restored = []
    for place, part in enumerate(header['parts']):
        ridge = table.copy()
        unpack_triangle(arrays['groups.matrix'][place], ridge.matrix)
        ridge.pending, ridge.scale = part['pending'], part['scale']
        stop = start + ridge.pending
        ridge.pending_store[:, :ridge.pending] = arrays['groups.pending'][start:stop].T
        start = stop
        if isinstance(ridge, ForgettingRidge):
            ridge.prior = arrays['groups.prior'][place].copy()
        ridge.set_beta(table.beta[:, part['columns']])
        restored.append(LabelGroup(ridge, list(part['columns']), part['key'], part['partial']))
    groups.complete, *groups.others = restored
    groups.key, groups.partial = header['key'], header['partial']
    return groups


def _dump_decisions(learner: Learner, arrays: Arrays) -> dict[str, Any]:
    """Return the header of the decision, and add its arrays."""
    decider, kept = learner.decider, learner.reservoir.samples
    _dump_decision('decision', decider.decision, arrays)
    upcoming = decider.upcoming()
    if upcoming is not None:
        _dump_decision('upcoming', upcoming.with_labels(len(learner.labels)), arrays)
    labels, size = len(learner.labels), learner.layer.size
    arrays['reservoir.hidden'] = np.array([sample.hidden for sample in kept],
                                          np.float32).reshape(len(kept), size)
    arrays['reservoir.targets'] = np.array([sample.targets_for(labels) for sample in kept],
                                           np.int8).reshape(len(kept), labels)
    arrays['reservoir.numbers'] = np.array(
        [[int(getattr(sample, column)) for column in RESERVOIR_COLUMNS] for sample in kept],
        np.int64).reshape(len(kept), len(RESERVOIR_COLUMNS))
    limit = learner.reservoir.limit
    return {'begun': decider.begun, 'due': decider.due, 'upcoming': upcoming is not None,
            'limit': limit if limit < math.inf else None}


def _dump_decision(part: str, decision: Decision, arrays: Arrays) -> None:
    curves = decision.calibration
    arrays[f'{part}.curves'] = np.stack([curves.slopes, curves.offsets,
                                         curves.uncontrasted.astype(np.float64)])
    arrays[f'{part}.numbers'] = np.array([decision.threshold, decision.at_least, decision.empty,
                                          *curves.common, curves.usual, decision.exclusive,
                                          decision.tolerance])
    if decision.novelty_scale is not None:
        arrays[f'{part}.percentiles'] = decision.novelty_scale.numbers()


def _restore_decisions(learner: Learner, header: dict[str, Any], arrays: Arrays) -> None:
    """Give a learner with labels its decision back; one of an older file keeps its threshold."""
    found, rule, labels = header.get('decision'), learner.options.threshold, len(learner.labels)
    if found is None:
        _, _, threshold, at_least = arrays['thresholds.numbers'].tolist()
        decision = Decision.prior(rule).with_labels(labels)._replace(
            threshold=threshold, at_least=int(at_least))
        learner.decider.restore(decision, None, learner.samples, learner.samples)
        return
    upcoming = _restore_decision('upcoming', rule, arrays) if found['upcoming'] else None
    learner.decider.restore(_restore_decision('decision', rule, arrays), upcoming, found['begun'],
                            found['due'])
    rows = zip(arrays['reservoir.numbers'].tolist(), arrays['reservoir.hidden'],
               arrays['reservoir.targets'])
    learner.reservoir.restore(
        (KeptSample(checksum, hidden, targets, bool(complete), own, born, times)
         for (checksum, complete, own, born, times), hidden, targets in rows),
        math.inf if found['limit'] is None else found['limit'])


def _restore_decision(part: str, rule: str, arrays: Arrays) -> Decision:
    slopes, offsets, uncontrasted = arrays[f'{part}.curves']
    numbers = arrays[f'{part}.numbers'].tolist()
    threshold, at_least, empty, slope, offset, usual, exclusive, tolerance = numbers
    calibration = Calibration(slopes, offsets, (slope, offset), uncontrasted > 0.0, usual)
    # Earlier versions had none, or other ones.
    novelty = arrays.get(f'{part}.percentiles')
    return Decision(rule, threshold, int(at_least), empty, exclusive > 0.0, tolerance, calibration,
                    None if novelty is None else NoveltyScale.of_numbers(novelty))


def pack_triangle(matrix: Array) -> Array:
    """Return the columns of the lower triangle, one behind the other, as LAPACK does (trttp).

    Its routine would hold the interpreter for many milliseconds at a time, in which a node that
    loads or saves a model could not predict.
    """
    size = len(matrix)
    packed: Array = np.empty(size * (size + 1) // 2, dtype=matrix.dtype)
    start = 0
    for column in range(size):
        stop = start + size - column
        packed[start:stop] = matrix[column:, column]
        start = stop
    return packed


def unpack_triangle(packed: Array, matrix: Array) -> None:
    """Fill in the lower triangle of a matrix from its packed columns."""
    size = len(matrix)
    start = 0
    for column in range(size):
        stop = start + size - column
        matrix[column:, column] = packed[start:stop]
        start = stop
