# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks everything in a model file before a model is made from it.

A checksum proves that a file is as it was written, not that it was written by this package. So
types, shapes, ranges and what header and arrays say about each other are checked first, and
nothing is allocated that the file does not hold itself.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from proemlc_ros.core.compiled import Array
from proemlc_ros.core.deciding.decider import CAPACITY
from proemlc_ros.core.deciding.decision import BY_PROBABILITY, EVEN
from proemlc_ros.core.deciding.novelty import KNOTS as NOVELTY_KNOTS
from proemlc_ros.core.deciding.novelty import NoveltyScale
from proemlc_ros.core.layer.scaling import KNOTS
from proemlc_ros.core.options import Options
from proemlc_ros.core.ridge import PENDING
from proemlc_ros.core.rows import check_rows
from proemlc_ros.core.sample_filter import SampleFilter
from proemlc_ros.core.storage.container import MAX_BYTES, Arrays
from proemlc_ros.errors import CorruptModelError, ModelTooLargeError, ParameterError

# Weight of all samples together in a model that forgets; see solving/forgetting.py.
_SCALES = 2.0 ** -128, 2.0 ** 65
_LARGEST_KEY = (1 << 64) - 1
_LARGEST_TOKEN = (1 << 32) - 1


RESERVOIR_COLUMNS = ('checksum', 'complete', 'own', 'born', 'times')


# Largest value of an array: products of two stay in the range of the precision. M may be larger
# where a model forgets faster than samples come.
_LARGEST = {'<f8': 1e150, '<f4': 1e18}
_LARGEST_OF_M = {'<f8': 1e250, '<f4': 1e32}
# Share of the largest entry of M that rounding may have cost a diagonal entry.
_ROUNDING = 1e-3
# Integers above it are not exact as floating-point numbers.
_LARGEST_INTEGER = 2 ** 53


def _check(condition: bool, text: str) -> None:
    """Raise an error with that text unless a condition holds."""
    if not condition:
        raise CorruptModelError(f'the parts of the model do not fit together: {text}')


def _check_array(arrays: Arrays, name: str, kind: str | tuple[str, ...],
                 shape: tuple[int | None, ...], unknown: bool = False) -> np.ndarray[Any, Any]:
    """Return an array of that type and shape; None: any length; unknown: -inf is allowed."""
    array = arrays[name]
    kinds = (kind,) if isinstance(kind, str) else kind
    _check(array.dtype.str in kinds, f'{name} is of type {array.dtype}')
    _check(array.ndim == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape)),
        f'{name} has the shape {array.shape}')
    if array.dtype.kind == 'f' and array.size:
        low, high = float(array.min()), float(array.max())
        limit = (_LARGEST_OF_M if name.endswith('matrix') else _LARGEST)[array.dtype.str]
        if unknown and low == -math.inf:
            low = 0.0
        # NaN fails the comparison as well; min() and max() pass it on.
        _check(-limit <= low and high <= limit, f'{name} has NaN, infinite or huge values')
    return array


def _check_names(names: Any, what: str) -> None:
    """Check names of labels; those of older files may break the present rule for names."""
    _check(isinstance(names, list), f'{what} is not a list')
    for name in names:
        _check(isinstance(name, str), f'{what} holds {str(name)[:40]!r}, which is not text')
        name.encode()  # A lone surrogate is a ValueError.
    _check(len(set(names)) == len(names), f'{what} holds a name twice')


def _check_integer(value: Any, what: str, low: int = 0, largest: int = _LARGEST_INTEGER) -> int:
    """Return a value that is an integer of at least `low`."""
    _check(type(value) is int and low <= value <= largest,
           f'{what} is {str(value)[:40]}')
    return int(value)


def _is_number(value: Any) -> bool:
    """Tell whether a value is a finite number that is not huge."""
    # Python compares integers of any size.
    return type(value) in (int, float) and abs(value) <= _LARGEST['<f8']


def _check_definite(matrix: np.ndarray[Any, Any], pending: np.ndarray[Any, Any]) -> None:
    """Check what is quickly seen of M = matrix - pending pending^T: no negative diagonal entry.

    No entry of a positive definite matrix is larger than the largest of its diagonal.

    Args:
        matrix: packed lower triangle.
        pending: (size, changes)
    """
    size = len(pending)
    places = np.arange(size)
    diagonal = matrix[places * size - places * (places - 1) // 2].astype(np.float64)
    largest = float(np.abs(matrix).max())
    _check(largest <= (1.0 + _ROUNDING) * float(diagonal.max()), 'matrix is not definite')
    diagonal -= np.square(pending, dtype=np.float64).sum(axis=1)
    _check(float(diagonal.min()) >= -_ROUNDING * largest, 'matrix is not definite')


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
    _check_names(header['first_labels'], 'first_labels')
    _check(isinstance(header.get('extra', {}), dict), 'extra is not an object')
    width, learner, warmup = header['width'], header['learner'], header['warmup']
    if width is not None:
        _check_integer(width, 'width', 1)
    _check(options.width in (None, width), 'width differs from that of the settings')
    if learner is not None:
        _check(width is not None, 'there are weights, but no width')
        size = _check_layer(options, width, arrays)
        _check_learner(options, size, learner, arrays)
    else:
        _check_promise(options, width or 0, max_bytes)
    _check_integer(header.get('complete_at', 0), 'complete_at')
    if warmup is not None:
        _check_warmup(options, width, learner, warmup, arrays)
    else:
        _check(learner is not None or not options.needs_samples,
               'the layer needs samples, but neither layer nor samples are there')
    return options


def check_beside(header: dict[str, Any]) -> dict[str, Any] | None:
    """Check what is said of models that forget at other rates; None: there are none."""
    found = header.get('beside')
    adaptive = isinstance(header['options'], dict) and header['options'].get('adaptive') is True
    _check((found is not None) == adaptive, 'models beside it are missing or extra')
    if not isinstance(found, dict):
        _check(found is None, 'beside is not an object')
        return None
    models, losses = found['models'], found['losses']
    _check(isinstance(models, list) and isinstance(losses, list) and len(models) <= 8
           and len(losses) == len(models) + 1, 'there is not one loss per model')
    _check(all(_is_number(loss) and loss >= 0.0 for loss in losses), 'a loss is not a number')
    _check_integer(found['seen'], 'seen')
    for part in models:
        _check(isinstance(part, dict) and part['width'] == header['width']
               and part['options'] == {**header['options'],
                                       'forgetting': part['options']['forgetting']},
               'a model beside it has other settings')
    return found


def _options(header: dict[str, Any]) -> Options:
    _check(isinstance(header['options'], dict), 'options is not an object')
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
    shift = _check_array(arrays, 'layer.shift', kind, (width,))
    factor = _check_array(arrays, 'layer.factor', kind, (width,))
    _check(bool(((factor > 0.0) & (factor <= _LARGEST_FACTOR)).all()),
           'layer.factor is not between 0 and 1e11')
    _check(options.scaling in ('standard', 'minmax', 'asinh')
           or not shift.any() and (factor == 1.0).all(),
           'the layer scales its input, but the settings say that it does not')
    summed = options.activation == 'kernel_sum'
    for name, there in (('layer.knots', options.scaling == 'rank'), ('layer.rank_knots', summed)):
        _check(there == (name in arrays), f'{name} is missing or extra')
        if there:
            knots = _check_array(arrays, name, kind, (KNOTS, width))
            _check(bool((np.diff(knots, axis=0) >= 0.0).all()), f'{name} does not rise')
    if options.radial:
        neurons = len(_check_array(arrays, 'layer.centres', kind, (None, width)))
        _check(1 <= neurons <= options.hidden_size,
               f'there are {neurons} centres for {options.hidden_size} neurons')
        gamma = _check_array(arrays, 'layer.gamma', '<f8', (4 if summed else 1,))
        _check(bool((gamma > 0.0).all()), 'layer.gamma is not above 0')
        if summed:
            _check_array(arrays, 'layer.rank_centres', kind, (neurons, width))
        _check(options.whiten == ('layer.whitener' in arrays), 'the whitener is missing or extra')
        if options.whiten:
            _check_array(arrays, 'layer.whitener', kind, (neurons, neurons))
    else:
        neurons = options.hidden_size
        _check_array(arrays, 'layer.weights', kind, (width, neurons))
        _check_array(arrays, 'layer.offset', kind, (neurons,))
    return neurons + options.direct_links * width + options.bias


def _check_learner(options: Options, size: int, learner: Any, arrays: Arrays) -> None:
    _check(isinstance(learner, dict), 'learner is not an object')
    labels, counts = learner['labels'], learner['counts']
    _check_names(labels, 'labels')
    samples = _check_integer(learner['samples'], 'samples')
    _check(isinstance(counts, list) and len(counts) == len(labels),
           'there is not one count per label')
    for count in counts:
        _check(_check_integer(count, 'counts') <= samples, 'a label has more samples than all')
    _check_integer(learner['steps'], 'steps')
    _check(_is_number(learner['mass']), 'mass is not a finite number')
    _check_scale(options, learner['scale'])
    _check_matrix(options, size, arrays)
    _check_array(arrays, 'beta', _dtype(options), (size, len(labels) + 1))
    _check_array(arrays, 'last_sum', _dtype(options), (size,))
    if options.forgetting < 1.0:
        _check_array(arrays, 'prior', '<f8', (size,))
    _check_decisions(options, learner, size, arrays)
    _check_sample_filter(arrays)
    _check_tokens(learner)
    _check_groups(options, size, learner, arrays)


def _check_matrix(options: Options, size: int, arrays: Arrays) -> None:
    matrix = _check_array(arrays, 'matrix', _dtype(options), (size * (size + 1) // 2,))
    pending = _check_array(arrays, 'pending', _dtype(options), (size, None))
    _check(pending.shape[1] <= PENDING, f'pending has more than {PENDING} columns')
    _check_definite(matrix, pending)


def _check_sample_filter(arrays: Arrays) -> None:
    places = _check_array(arrays, 'ledger.places', '<u4', (None,)).astype(np.int64)
    counts = _check_array(arrays, 'ledger.counts', '<u2', places.shape)
    _check(bool((np.diff(places) > 0).all()), 'the places of the sample filter are not in order')
    _check(not len(places) or int(places[-1]) < len(SampleFilter().counts),
           'a place of the sample filter is beyond its size')
    _check(bool(counts.all()), 'the sample filter counts zero samples')


def _check_warmup(options: Options, width: int | None, learner: Any, warmup: Any,
                  arrays: Arrays) -> None:
    _check(isinstance(warmup, dict), 'warmup is not an object')
    _check(options.needs_samples, 'samples are kept for a layer that needs none')
    needed, kept = warmup['needed'], _check_integer(warmup['kept'], 'kept')
    _check_integer(needed, 'needed', 1)
    _check(kept < max(needed, options.most_kept), f'{kept} samples are kept, more than ever are')
    _check(isinstance(warmup.get('grows', False), bool), 'grows is neither true nor false')
    _check((learner is not None) == (kept > 0), 'samples are kept, but not learnt')
    annotations, sparse = warmup['annotations'], warmup['sparse']
    _check(isinstance(annotations, list) and len(annotations) == kept,
           'there is not one annotation per sample')
    _check(isinstance(sparse, bool), 'sparse is neither true nor false')
    if learner is None or width is None:
        return
    shown: Counter[str] = Counter()
    for annotation in annotations:
        shown.update(_check_annotation(annotation, set(learner['labels'])))
    _check(learner['samples'] == kept, 'not all of the kept samples are learnt')
    _check([shown[name] for name in learner['labels']] == learner['counts'],
           'the counts of the labels differ from the annotations kept')
    kind = _dtype(options)
    if sparse:
        _check_sparse(kept, width, kind, arrays)
    else:
        check_rows(_check_array(arrays, 'warmup.rows', kind, (kept, width)), width, options.dtype)


def _check_annotation(annotation: Any, known: set[str]) -> list[str]:
    """Check a kept annotation and return the labels that it shows."""
    _check(isinstance(annotation, list) and len(annotation) == 3, 'an annotation has no 3 parts')
    present, absent, complete = annotation
    _check_names(present, 'present')
    _check_names(absent, 'absent')
    _check(isinstance(complete, bool), 'complete is neither true nor false')
    _check(known.issuperset(present) and (complete or known.issuperset(absent)),
           'an annotation names a label that is not known')
    _check(not set(present) & set(absent), 'a label is both present and absent')
    return list(present)


def _check_sparse(kept: int, width: int, kind: str, arrays: Arrays) -> None:
    """Check kept rows in CSR form, with sorted indices."""
    values = _check_array(arrays, 'warmup.data', kind, (None,))
    indices = _check_array(arrays, 'warmup.indices', ('<i4', '<i8'), values.shape).astype(np.int64)
    ends = _check_array(arrays, 'warmup.indptr', ('<i4', '<i8'), (kept + 1,)).astype(np.int64)
    lengths = np.diff(ends)
    _check(ends[0] == 0 and ends[-1] == len(values) and bool((lengths >= 0).all()),
           'the rows of the kept samples do not add up')
    _check(bool(((indices >= 0) & (indices < width)).all()), 'a kept sample has more features')
    places = np.repeat(np.arange(kept), lengths) * width + indices
    _check(bool((np.diff(places) > 0).all()), 'a kept sample has its features out of order')
    check_rows(values[np.newaxis] if len(values) else np.zeros((1, 1)), None,
               'float64' if kind == '<f8' else 'float32')


def _dtype(options: Options) -> str:
    return np.dtype(options.dtype).str


def _check_groups(options: Options, size: int, learner: dict[str, Any], arrays: Arrays) -> None:
    """Check the groups of a model file, if it has any."""
    if 'groups' not in learner:
        return
    groups, kind = learner['groups'], np.dtype(options.dtype).str
    _check(isinstance(groups, dict) and isinstance(groups['parts'], list)
           and bool(groups['parts']), 'groups is not a list of groups')
    parts = groups['parts']
    _check_integer(groups['key'], 'key', largest=_LARGEST_KEY)
    _check(1 <= _check_integer(groups['partial'], 'partial') <= learner['samples'],
           'there are more partial annotations than samples')
    used: set[int] = set()
    for part in parts:
        columns = part['columns']
        _check(isinstance(columns, list) and bool(columns), 'a group has no columns')
        for column in columns:
            _check(_check_integer(column, 'columns') <= len(learner['labels'])
                   and column not in used, 'a column is in no group, or in two')
            used.add(column)
        _check_integer(part['key'], 'key', largest=_LARGEST_KEY)
        _check(_check_integer(part['partial'], 'partial') <= groups['partial'],
               'a group has more partial annotations than all')
        _check(_check_integer(part['pending'], 'pending') <= PENDING,
               f'pending is more than {PENDING}')
        _check_scale(options, part['scale'])
    _check(0 in parts[0]['columns'], 'the first group is not that of the unnamed label')
    counts = [part['pending'] for part in parts]
    matrices = _check_array(arrays, 'groups.matrix', kind, (len(parts), size * (size + 1) // 2))
    pending = _check_array(arrays, 'groups.pending', kind, (sum(counts), size))
    for matrix, changes in zip(matrices, np.split(pending, np.cumsum(counts)[:-1])):
        _check_definite(matrix, changes.T)
    if options.forgetting < 1.0:
        _check_array(arrays, 'groups.prior', '<f8', (len(parts), size))


def _check_scale(options: Options, scale: Any) -> None:
    """Check the weight of all samples together."""
    _check(_is_number(scale) and (_SCALES[0] <= scale <= _SCALES[1]), 'scale is out of range')
    _check(scale == 1.0 or options.forgetting < 1.0, 'scale is not 1 in a model that keeps all')


def _check_tokens(learner: dict[str, Any]) -> None:
    """Check the numbers by which the sample filter knows labels."""
    if 'tokens' not in learner:
        return
    tokens = learner['tokens']
    _check(isinstance(tokens, dict) and isinstance(tokens['given'], dict)
           and isinstance(tokens['removed'], list) and isinstance(tokens['nameless'], bool),
           'tokens are not three parts')
    for numbers in (tokens['removed'], *tokens['given'].values()):
        _check(isinstance(numbers, list), 'the tokens of a label are not a list')
        for number in numbers:
            _check_integer(number, 'tokens', largest=_LARGEST_TOKEN)
    _check(all(tokens['given'].values()), 'a label has no token')


def _check_decisions(options: Options, header: dict[str, Any], size: int, arrays: Arrays) -> None:
    """Check the decision and the samples that are kept for it."""
    found, labels = header.get('decision'), len(header['labels'])
    if found is None:
        _check_thresholds(options, arrays)
        return
    _check(isinstance(found, dict), 'decision is not an object')
    samples = header['samples']
    _check_integer(found['due'], 'due')
    _check(_check_integer(found['begun'], 'begun') <= samples, 'a fit began with more samples')
    _check(isinstance(found['upcoming'], bool), 'upcoming is neither true nor false')
    for part in ('decision', 'upcoming') if found['upcoming'] else ('decision',):
        _check_decision(options, part, labels, arrays)
    limit = found['limit']
    _check(limit is None or type(limit) is float and abs(limit) <= _LARGEST_INTEGER,
           'the limit of the kept samples is not a number')
    _check_reservoir(options, size, labels, samples, arrays)


def _check_decision(options: Options, part: str, labels: int, arrays: Arrays) -> None:
    slopes, offsets, uncontrasted = _check_array(arrays, f'{part}.curves', '<f8', (3, labels))
    numbers = _check_array(arrays, f'{part}.numbers', '<f8', (8,)).tolist()
    threshold, at_least, empty, slope, offset, usual, exclusive, tolerance = numbers
    _check(bool((slopes > 0.0).all()) and slope > 0.0, 'a curve does not rise')
    _check(max(np.abs(slopes).max(initial=slope), np.abs(offsets).max(initial=abs(offset))) <= 1e6,
           'a curve is too steep')
    _check(bool(np.isin(uncontrasted, (0.0, 1.0)).all()), 'uncontrasted has more than 0 and 1')
    _check(at_least in (0.0, 1.0) and exclusive in (0.0, 1.0)
           and 0.0 <= empty <= 1.0 and 0.0 <= tolerance < 1.0 and -1e-6 <= usual <= 1.0 + 1e-6,
           f'{part} has numbers out of range')
    if f'{part}.percentiles' in arrays:
        _check_novelty(_check_array(arrays, f'{part}.percentiles', '<f8', (7 + NOVELTY_KNOTS,)))
    _check(threshold == EVEN if options.threshold in BY_PROBABILITY else -1.0 <= threshold <= 1.0,
           f'the threshold is {threshold:g}')
    _check(options.threshold != 'zero' or threshold == at_least == 0.0,
           'a threshold was learnt, but the settings say zero')


def _check_novelty(numbers: Array) -> None:
    scale = NoveltyScale.of_numbers(numbers)
    _check(bool((np.abs(numbers) <= 1e12).all()) and 0.0 <= scale.weight <= 1.0
           and min(scale.distance[1], scale.doubt[1], scale.deviation) > 1e-12
           and scale.samples >= 1.0 and bool((np.diff(scale.knots) >= 0.0).all()),
           'the percentiles of the novelty are out of range')


def _check_reservoir(options: Options, size: int, labels: int, samples: int,
                     arrays: Arrays) -> None:
    hidden = _check_array(arrays, 'reservoir.hidden', '<f4', (None, size))
    _check(len(hidden) <= min(CAPACITY, samples), f'{len(hidden)} samples are kept')
    targets = _check_array(arrays, 'reservoir.targets', '|i1', (len(hidden), labels))
    _check(bool((np.abs(targets) <= 1).all()), 'a target is not -1, 0 or 1')
    numbers = _check_array(arrays, 'reservoir.numbers', '<i8', (len(hidden),
                                                                len(RESERVOIR_COLUMNS)))
    checksums, completes, own, born, times = numbers.T
    _check(bool(((checksums >= 0) & (checksums < 1 << 32)).all()), 'a checksum is out of range')
    _check(bool(np.isin(completes, (0, 1)).all()), 'complete is neither 0 nor 1')
    neurons = options.hidden_size if options.radial else 0
    _check(bool(((own >= -1) & (own < min(neurons, size))).all()), 'a kept sample has no neuron')
    _check(bool(((born >= 0) & (born <= _LARGEST_INTEGER)).all()), 'a kept sample is too young')
    _check(bool((times >= 1).all()) and int(times.sum()) <= samples,
           'more samples are kept than were learnt')


def _check_thresholds(options: Options, arrays: Arrays) -> None:
    """Check the threshold of a file in which no samples are kept for it."""
    _, _, threshold, at_least = _check_array(arrays, 'thresholds.numbers', '<f8', (4,)).tolist()
    _check(-1.0 <= threshold <= 1.0 and at_least in (0.0, 1.0),
           f'the decision rule is {threshold:g} and {at_least:g}')
    _check(options.threshold in ('learnt', 'learnt_hamming') or threshold == at_least == 0.0,
           'a threshold was learnt, but the settings say zero')
