# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""A model as a JSON header and plain arrays, and back, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.core.label_tokens import LabelTokens
from proemlc_ros.core.labels import LabelColumns
from proemlc_ros.core.layer import restore_layer
from proemlc_ros.core.layer.warmup import WarmUp
from proemlc_ros.core.learner import Learner
from proemlc_ros.core.model_state import ModelState
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import Rows, is_sparse
from proemlc_ros.core.samples import SampleLabels
from proemlc_ros.core.solving.forgetting import ForgettingRidge
from proemlc_ros.core.solving.recursive import RecursiveRidge
from proemlc_ros.core.storage.container import MAX_BYTES, Arrays
from proemlc_ros.core.storage.decisions import dump_decisions, restore_decisions
from proemlc_ros.core.storage.groups import dump_groups, restore_groups
from proemlc_ros.core.storage.triangles import pack_triangle, unpack_triangle
from proemlc_ros.core.storage.validation import check_model
from proemlc_ros.errors import CorruptModelError, ModelFileError


def dump(state: ModelState) -> tuple[dict[str, Any], Arrays]:
    """Return everything that makes up a model."""
    header: dict[str, Any] = {
        'options': state.options.as_dict(), 'width': state.width,
        'first_labels': state.first_labels.names, 'learner': None, 'warmup': None}
    arrays: Arrays = {}
    if state.learner is not None:
        header['learner'] = _dump_learner(state.learner, arrays)
    if state.warmup is not None:
        header['warmup'] = _dump_warmup(state.warmup, arrays)
    return header, arrays


def restore(header: dict[str, Any], arrays: Arrays, max_bytes: int = MAX_BYTES) -> ModelState:
    """Make a model again from what dump() returned.

    Args:
        header: of the file.
        arrays: by name.
        max_bytes: memory that the settings may ask for where no weights are in the file.

    Raises:
        CorruptModelError: when header and arrays do not fit together.
        ModelTooLargeError: when the settings ask for more memory than allowed.
    """
    try:
        options = check_model(header, arrays, max_bytes)
        state = ModelState(options, LabelColumns(header['first_labels']))
        state.width = header['width']
        if header['learner'] is not None:
            state.learner = _restore_learner(state.options, header['learner'], arrays)
        state.warmup = None
        if header['warmup'] is not None:
            state.warmup = _restore_warmup(state.options, header['warmup'], arrays)
        return state
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CorruptModelError(
            f'the parts of the model do not fit together: {error!r}') from error


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
              'steps': getattr(ridge, 'steps', 0), 'decision': dump_decisions(learner, arrays),
              'tokens': {'given': tokens.given, 'removed': tokens.removed,
                         'nameless': tokens.nameless}}
    if learner.groups is not None:
        header['groups'] = dump_groups(learner.groups, arrays)
    return header


def _restore_learner(options: Options, header: dict[str, Any], arrays: Arrays) -> Learner:
    layer = restore_layer(options, _part('layer', arrays))
    learner = Learner(options, layer)
    learner.labels = LabelColumns(header['labels'], header['counts'])
    learner.samples, learner.mass = header['samples'], header['mass']
    learner.last_sum = arrays['last_sum']
    restore_decisions(learner, header, arrays)
    learner.sample_filter.counts[arrays['ledger.places']] = arrays['ledger.counts']
    _restore_ridge(learner.ridge, header, arrays)
    # Earlier versions recorded samples without their labels.
    tokens = header.get('tokens', {'given': {}, 'removed': [], 'nameless': True})
    learner.tokens = LabelTokens({name: tuple(given) for name, given in tokens['given'].items()},
                                 tuple(tokens['removed']), tokens['nameless'])
    if 'groups' in header:
        learner.groups = restore_groups(learner, header['groups'], arrays)
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
