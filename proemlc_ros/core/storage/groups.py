# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The matrices that partial annotations need, as plain values and arrays, checked and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from proemlc_ros.core.learner import Learner
from proemlc_ros.core.options import Options
from proemlc_ros.core.solving.forgetting import ForgettingRidge
from proemlc_ros.core.solving.inverse import PENDING
from proemlc_ros.core.solving.label_groups import LabelGroup, LabelGroups
from proemlc_ros.core.storage.checks import (
    check,
    check_array,
    check_definite,
    check_integer,
    is_number,
)
from proemlc_ros.core.storage.container import Arrays
from proemlc_ros.core.storage.triangles import pack_triangle, unpack_triangle

# Weight of all samples together in a model that forgets; see solving/forgetting.py.
_SCALES = 2.0 ** -128, 2.0 ** 65
_LARGEST_KEY = (1 << 64) - 1
_LARGEST_TOKEN = (1 << 32) - 1


def dump_groups(groups: LabelGroups, arrays: Arrays) -> dict[str, Any]:
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


def restore_groups(learner: Learner, header: dict[str, Any], arrays: Arrays) -> LabelGroups:
    """Make the groups again from what dump_groups() returned, for a learner with its weights."""
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


def check_groups(options: Options, size: int, learner: dict[str, Any], arrays: Arrays) -> None:
    """Check the groups of a model file, if it has any."""
    if 'groups' not in learner:
        return
    groups, kind = learner['groups'], np.dtype(options.dtype).str
    check(isinstance(groups, dict) and isinstance(groups['parts'], list) and bool(groups['parts']),
          'groups is not a list of groups')
    parts = groups['parts']
    check_integer(groups['key'], 'key', largest=_LARGEST_KEY)
    check(1 <= check_integer(groups['partial'], 'partial') <= learner['samples'],
          'there are more partial annotations than samples')
    used: set[int] = set()
    for part in parts:
        columns = part['columns']
        check(isinstance(columns, list) and bool(columns), 'a group has no columns')
        for column in columns:
            check(check_integer(column, 'columns') <= len(learner['labels'])
                  and column not in used, 'a column is in no group, or in two')
            used.add(column)
        check_integer(part['key'], 'key', largest=_LARGEST_KEY)
        check(check_integer(part['partial'], 'partial') <= groups['partial'],
              'a group has more partial annotations than all')
        check(check_integer(part['pending'], 'pending') <= PENDING,
              f'pending is more than {PENDING}')
        check_scale(options, part['scale'])
    check(0 in parts[0]['columns'], 'the first group is not that of the unnamed label')
    counts = [part['pending'] for part in parts]
    matrices = check_array(arrays, 'groups.matrix', kind, (len(parts), size * (size + 1) // 2))
    pending = check_array(arrays, 'groups.pending', kind, (sum(counts), size))
    for matrix, changes in zip(matrices, np.split(pending, np.cumsum(counts)[:-1])):
        check_definite(matrix, changes.T)
    if options.forgetting < 1.0:
        check_array(arrays, 'groups.prior', '<f8', (len(parts), size))


def check_scale(options: Options, scale: Any) -> None:
    """Check the weight of all samples together."""
    check(is_number(scale) and (_SCALES[0] <= scale <= _SCALES[1]), 'scale is out of range')
    check(scale == 1.0 or options.forgetting < 1.0, 'scale is not 1 in a model that keeps all')


def check_tokens(learner: dict[str, Any]) -> None:
    """Check the numbers by which the sample filter knows labels."""
    if 'tokens' not in learner:
        return
    tokens = learner['tokens']
    check(isinstance(tokens, dict) and isinstance(tokens['given'], dict)
          and isinstance(tokens['removed'], list) and isinstance(tokens['nameless'], bool),
          'tokens are not three parts')
    for numbers in (tokens['removed'], *tokens['given'].values()):
        check(isinstance(numbers, list), 'the tokens of a label are not a list')
        for number in numbers:
            check_integer(number, 'tokens', largest=_LARGEST_TOKEN)
    check(all(tokens['given'].values()), 'a label has no token')
