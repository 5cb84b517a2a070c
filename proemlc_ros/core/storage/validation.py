# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks everything in a model file before a model is made from it.

A checksum proves that a file is as it was written, not that it was written by this package. So
types, shapes, ranges and what header and arrays say about each other are checked first, and
nothing is allocated that the file does not hold itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from proemlc_ros.core.learning.unlearning import SampleFilter
from proemlc_ros.core.options import Options
from proemlc_ros.core.rows import check_rows
from proemlc_ros.core.solving.inverse import PENDING
from proemlc_ros.core.storage.checks import (
    check,
    check_array,
    check_definite,
    check_integer,
    check_names,
    is_number,
)
from proemlc_ros.core.storage.container import MAX_BYTES, Arrays
from proemlc_ros.core.storage.decisions import check_decisions
from proemlc_ros.core.storage.groups import check_groups, check_scale, check_tokens
from proemlc_ros.errors import CorruptModelError, ModelTooLargeError, ParameterError

# Scaling leaves a feature alone that moves less than 1e-10 of its size.
_LARGEST_FACTOR = 1e11


def check_model(header: dict[str, Any], arrays: Arrays, max_bytes: int = MAX_BYTES) -> Options:
    """Check header and arrays of a model file.

    Args:
        header: of the file.
        arrays: by name.
        max_bytes: memory that the settings may ask for where no weights are in the file.

    Returns:
        The settings of the model.

    Raises:
        CorruptModelError: something in it cannot be part of a model.
        ModelTooLargeError: its settings ask for more memory than allowed.
    """
    options = _options(header)
    check_names(header['first_labels'], 'first_labels')
    check(isinstance(header.get('extra', {}), dict), 'extra is not an object')
    width, learner, warmup = header['width'], header['learner'], header['warmup']
    if width is not None:
        check_integer(width, 'width', 1)
    check(options.width in (None, width), 'width differs from that of the settings')
    if learner is not None:
        check(width is not None, 'there are weights, but no width')
        size = _check_layer(options, width, arrays)
        _check_learner(options, size, learner, arrays)
    else:
        _check_promise(options, width or 0, max_bytes)
    if warmup is not None:
        _check_warmup(options, width, learner, warmup, arrays)
    else:
        check(learner is not None or not options.needs_samples,
              'the layer needs samples, but neither layer nor samples are there')
    return options


def _options(header: dict[str, Any]) -> Options:
    check(isinstance(header['options'], dict), 'options is not an object')
    try:
        return Options.from_dict(header['options'])
    except ParameterError as error:
        raise CorruptModelError(f'the model file has a setting that is not allowed: {error}'
                                ) from error


def _check_promise(options: Options, width: int, max_bytes: int) -> None:
    """Check what the first sample would allocate.

    Random neurons are drawn all at once, those around centres one per sample.
    """
    neurons = 1 if options.radial else options.hidden_size
    size = neurons + options.direct_links * width + options.bias
    item_size = np.dtype(options.dtype).itemsize
    needed = (size * (size + 1) // 2 + neurons * width) * item_size
    if needed > max_bytes:
        raise ModelTooLargeError(f'the settings of the model need {needed} bytes for {neurons} '
                                 f'neurons and {width} features, more than the {max_bytes} '
                                 'allowed; raise max_bytes if you trust the file')


def _check_layer(options: Options, width: int, arrays: Arrays) -> int:
    """Check the arrays of the hidden layer and return the length of a hidden row."""
    kind = _dtype(options)
    shift = check_array(arrays, 'layer.shift', kind, (width,))
    factor = check_array(arrays, 'layer.factor', kind, (width,))
    check(bool(((factor > 0.0) & (factor <= _LARGEST_FACTOR)).all()),
          'layer.factor is not between 0 and 1e11')
    check(options.scaling in ('standard', 'minmax') or not shift.any() and (factor == 1.0).all(),
          'the layer scales its input, but the settings say that it does not')
    if options.radial:
        neurons = len(check_array(arrays, 'layer.centres', kind, (None, width)))
        check(1 <= neurons <= options.hidden_size,
              f'there are {neurons} centres for {options.hidden_size} neurons')
        gamma = check_array(arrays, 'layer.gamma', '<f8', (1,))
        check(gamma[0] > 0.0, 'layer.gamma is not above 0')
        check(options.whiten == ('layer.whitener' in arrays), 'the whitener is missing or extra')
        if options.whiten:
            check_array(arrays, 'layer.whitener', kind, (neurons, neurons))
    else:
        neurons = options.hidden_size
        check_array(arrays, 'layer.weights', kind, (width, neurons))
        check_array(arrays, 'layer.offset', kind, (neurons,))
    return neurons + options.direct_links * width + options.bias


def _check_learner(options: Options, size: int, learner: Any, arrays: Arrays) -> None:
    check(isinstance(learner, dict), 'learner is not an object')
    labels, counts = learner['labels'], learner['counts']
    check_names(labels, 'labels')
    samples = check_integer(learner['samples'], 'samples')
    check(isinstance(counts, list) and len(counts) == len(labels),
          'there is not one count per label')
    for count in counts:
        check(check_integer(count, 'counts') <= samples, 'a label has more samples than all')
    check_integer(learner['steps'], 'steps')
    check(is_number(learner['mass']), 'mass is not a finite number')
    check_scale(options, learner['scale'])
    _check_matrix(options, size, arrays)
    check_array(arrays, 'beta', _dtype(options), (size, len(labels) + 1))
    check_array(arrays, 'last_sum', _dtype(options), (size,))
    if options.forgetting < 1.0:
        check_array(arrays, 'prior', '<f8', (size,))
    check_decisions(options, learner, size, arrays)
    _check_sample_filter(arrays)
    check_tokens(learner)
    check_groups(options, size, learner, arrays)


def _check_matrix(options: Options, size: int, arrays: Arrays) -> None:
    matrix = check_array(arrays, 'matrix', _dtype(options), (size * (size + 1) // 2,))
    pending = check_array(arrays, 'pending', _dtype(options), (size, None))
    check(pending.shape[1] <= PENDING, f'pending has more than {PENDING} columns')
    check_definite(matrix, pending)


def _check_sample_filter(arrays: Arrays) -> None:
    places = check_array(arrays, 'ledger.places', '<u4', (None,)).astype(np.int64)
    counts = check_array(arrays, 'ledger.counts', '<u2', places.shape)
    check(bool((np.diff(places) > 0).all()), 'the places of the sample filter are not in order')
    check(not len(places) or int(places[-1]) < len(SampleFilter().counts),
          'a place of the sample filter is beyond its size')
    check(bool(counts.all()), 'the sample filter counts zero samples')


def _check_warmup(options: Options, width: int | None, learner: Any, warmup: Any,
                  arrays: Arrays) -> None:
    check(isinstance(warmup, dict), 'warmup is not an object')
    check(options.needs_samples, 'samples are kept for a layer that needs none')
    needed, kept = warmup['needed'], check_integer(warmup['kept'], 'kept')
    check(kept < check_integer(needed, 'needed', 1), f'{kept} of {needed} samples are kept')
    check((learner is not None) == (kept > 0), 'samples are kept, but not learnt')
    annotations, sparse = warmup['annotations'], warmup['sparse']
    check(isinstance(annotations, list) and len(annotations) == kept,
          'there is not one annotation per sample')
    check(isinstance(sparse, bool), 'sparse is neither true nor false')
    if learner is None or width is None:
        return
    shown: Counter[str] = Counter()
    for annotation in annotations:
        shown.update(_check_annotation(annotation, set(learner['labels'])))
    check(learner['samples'] == kept, 'not all of the kept samples are learnt')
    check([shown[name] for name in learner['labels']] == learner['counts'],
          'the counts of the labels differ from the annotations kept')
    kind = _dtype(options)
    if sparse:
        _check_sparse(kept, width, kind, arrays)
    else:
        check_rows(check_array(arrays, 'warmup.rows', kind, (kept, width)), width, options.dtype)


def _check_annotation(annotation: Any, known: set[str]) -> list[str]:
    """Check a kept annotation and return the labels that it shows."""
    check(isinstance(annotation, list) and len(annotation) == 3, 'an annotation has no 3 parts')
    present, absent, complete = annotation
    check_names(present, 'present')
    check_names(absent, 'absent')
    check(isinstance(complete, bool), 'complete is neither true nor false')
    check(known.issuperset(present) and (complete or known.issuperset(absent)),
          'an annotation names a label that is not known')
    check(not set(present) & set(absent), 'a label is both present and absent')
    return list(present)


def _check_sparse(kept: int, width: int, kind: str, arrays: Arrays) -> None:
    """Check kept rows in CSR form, with sorted indices."""
    values = check_array(arrays, 'warmup.data', kind, (None,))
    indices = check_array(arrays, 'warmup.indices', ('<i4', '<i8'), values.shape).astype(np.int64)
    ends = check_array(arrays, 'warmup.indptr', ('<i4', '<i8'), (kept + 1,)).astype(np.int64)
    lengths = np.diff(ends)
    check(ends[0] == 0 and ends[-1] == len(values) and bool((lengths >= 0).all()),
          'the rows of the kept samples do not add up')
    check(bool(((indices >= 0) & (indices < width)).all()), 'a kept sample has more features')
    places = np.repeat(np.arange(kept), lengths) * width + indices
    check(bool((np.diff(places) > 0).all()), 'a kept sample has its features out of order')
    check_rows(values[np.newaxis] if len(values) else np.zeros((1, 1)), None,
               'float64' if kind == '<f8' else 'float32')


def _dtype(options: Options) -> str:
    return np.dtype(options.dtype).str
