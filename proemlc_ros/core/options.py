# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of a model, validated once."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass, fields
from typing import Any

from proemlc_ros.errors import ParameterError

# Activation functions of random neurons.
ACTIVATIONS = ('sigmoid', 'relu', 'tanh', 'sine', 'gaussian', 'softplus', 'identity')
# Neurons around centres drawn from the first samples.
RADIAL = ('rbf', 'laplacian', 'kernel_sum')
SCALINGS = ('none', 'standard', 'minmax', 'l2', 'asinh', 'rank')
# Those that the first samples decide on.
FITTED_SCALINGS = ('standard', 'minmax', 'asinh', 'rank')
_RECALIBRATIONS = ('exact', 'paper')
THRESHOLDS = ('zero', 'learnt', 'learnt_hamming', 'probable', 'expected_f1')
_DTYPES = ('float64', 'float32')
# Means and spreads settle within this many samples; radial neurons need one sample each.
_SCALING_WARMUP = 100
# Samples per neuron that are kept at most while a layer grows; a power of two.
_MOST_KEPT = 4


@dataclass(frozen=True)
class Options:
    """Everything that is chosen before the first sample; ProEMLC describes them."""

    hidden_size: int = 500
    ridge: float = 0.1
    activation: str = 'laplacian'
    scaling: str = 'asinh'
    direct_links: bool = False
    recalibration: str = 'exact'
    seed: int = 0
    bias: bool = True
    forgetting: float = 1.0
    threshold: str = 'expected_f1'
    gamma: float | None = None
    gamma_scale: float = 1.0
    whiten: bool = False
    warmup: int | None = None
    width: int | None = None
    weight_scale: float | None = None
    dtype: str = 'float64'
    partial_memory: float = 256.0
    # Whether prequential losses choose the forgetting factor, given as forgetting='auto'.
    adaptive: bool = False

    def __post_init__(self) -> None:
        """Check every value."""
        _check_choice('activation', self.activation, (*ACTIVATIONS, *RADIAL))
        _check_choice('scaling', self.scaling, SCALINGS)
        _check_choice('recalibration', self.recalibration, _RECALIBRATIONS)
        _check_choice('threshold', self.threshold, THRESHOLDS)
        _check_choice('dtype', self.dtype, _DTYPES)
        _check_integer('hidden_size', self.hidden_size, 1)
        _check_integer('seed', self.seed, 0)
        for name in ('warmup', 'width'):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), 1)
        for name in ('direct_links', 'bias', 'whiten', 'adaptive'):
            _check_choice(name, getattr(self, name), (False, True))
        _check_real('ridge', self.ridge, low=0.0)
        _check_real('forgetting', self.forgetting, low=0.5, high=1.0)
        _check_real('gamma_scale', self.gamma_scale, above=0.0)
        _check_real('partial_memory', self.partial_memory, low=0.0)
        for name in ('gamma', 'weight_scale'):
            if getattr(self, name) is not None:
                _check_real(name, getattr(self, name), above=0.0)
        if self.activation == 'kernel_sum' and self.gamma is not None:
            raise ParameterError('gamma is for one kernel, and kernel_sum has four; give '
                                 'gamma_scale')

    @property
    def radial(self) -> bool:
        """Whether the neurons are centred on samples."""
        return self.activation in RADIAL

    @property
    def needs_samples(self) -> bool:
        """Whether the hidden layer depends on the first samples."""
        return self.radial or self.scaling in FITTED_SCALINGS

    @property
    def warmup_samples(self) -> int:
        """How many samples fix the hidden layer; 0: none are needed."""
        if not self.needs_samples:
            return 0
        if self.warmup is not None:
            return self.warmup
        return self.hidden_size if self.radial else _SCALING_WARMUP

    @property
    def most_kept(self) -> int:
        """How many samples are kept at most while the hidden layer grows.

        More than there are neurons to come, since near copies get none.
        """
        grows = self.radial and self.warmup is None
        return _MOST_KEPT * self.hidden_size if grows else self.warmup_samples

    def group_limit(self, size: int) -> int:
        """Return how many matrices of hidden rows of that size partial annotations may need."""
        itemsize = 8 if self.dtype == 'float64' else 4
        return int(self.partial_memory * 1e6 // (itemsize * size * size))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON."""
        values = asdict(self)
        if not self.adaptive:
            del values['adaptive']  # Earlier versions do not know it.
        return values

    def given(self, name: str) -> Any:
        """Return a setting as it was given; forgetting is 0 where losses choose the factor."""
        return 0.0 if name == 'forgetting' and self.adaptive else getattr(self, name)

    @property
    def forgets(self) -> bool:
        """Whether recent samples may weigh more than older ones."""
        return self.forgetting < 1.0 or self.adaptive

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Options:
        """Make the settings from what as_dict returned."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ParameterError(f'unknown settings {unknown}; known are {sorted(known)}')
        if values.get('forgetting') in ('auto', 0):
            values = {**values, 'forgetting': 1.0, 'adaptive': True}
        # NumPy's own numbers are as good as Python's.
        return cls(**{name: value.item() if hasattr(value, 'item') else value
                      for name, value in values.items()})


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or value == choice and type(value) is type(choice)
               for choice in choices):
        raise ParameterError(f'{name} is {value!r}; choose one of {list(choices)}')


def _check_integer(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ParameterError(f'{name} is {value!r}; it must be an integer of at least {low}')


def _check_real(name: str, value: object, low: float = -math.inf, high: float = math.inf,
                above: float = -math.inf) -> None:
    # Compared with the largest number, since an integer of 400 digits is no float at all.
    if (isinstance(value, bool) or not isinstance(value, (int, float))
            or not abs(value) <= sys.float_info.max
            or not low <= value <= high or not value > above):
        bounds = f'above {above:g}' if above > -math.inf else f'at least {low:g}'
        if high < math.inf:
            bounds += f' and at most {high:g}'
        raise ParameterError(f'{name} is {value!r}; it must be a number {bounds}')
